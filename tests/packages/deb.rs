//! The MD5 sums in the Debian package. cargo-deb, which makes it, takes minutes to build, so a small package stands for it.

use super::{ROOT, shell};
use crate::support::skip;
use std::process::Command;

/// A package with the program, and with a page whose directory has a blank in its name.
const PACKAGE: &str = r"
    umask 022
    export SOURCE_DATE_EPOCH=1700000000
    mkdir --parents tree/DEBIAN tree/usr/bin 'tree/usr/share/doc/a page'
    printf '%s\n' 'Package: zklock' 'Version: 1' 'Architecture: all' \
        'Maintainer: The zklock developers <zklock@example.org>' 'Description: for a test' >tree/DEBIAN/control
    install -m 755 /bin/true tree/usr/bin/zklock
    echo text >'tree/usr/share/doc/a page/usage.md'
    dpkg-deb --root-owner-group -Znone --build tree small.deb >/dev/null
";

#[test]
fn the_debian_package_has_the_md5_sum_of_each_file_and_nothing_else_changes() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return skip("dpkg is not installed");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    shell(dir, PACKAGE);
    let contents = shell(dir, "dpkg-deb --contents small.deb");
    let control = shell(dir, "dpkg-deb --field small.deb");
    // The umask of someone who keeps files private must not get into the package. Without the variable a directory would
    // have another time in another minute.
    let script = format!(
        "umask 077; export SOURCE_DATE_EPOCH=1700000000; work=$PWD/work; mkdir work; \
         source '{ROOT}/scripts/packaging/deb.sh'; add_md5sums small.deb"
    );
    shell(dir, &script);

    let files = shell(
        dir,
        "dpkg-deb --info small.deb md5sums >sums; dpkg --extract small.deb unpacked
         (cd unpacked && md5sum --check --strict --quiet ../sums); cut -c 35- sums",
    );
    assert_eq!(files, "usr/bin/zklock\nusr/share/doc/a page/usage.md\n");
    assert_eq!(shell(dir, "dpkg-deb --contents small.deb"), contents);
    assert_eq!(shell(dir, "dpkg-deb --field small.deb"), control);
    let modes = shell(dir, "dpkg-deb --ctrl-tarfile small.deb | tar --list --verbose | cut -d ' ' -f 1,2");
    assert_eq!(modes, "drwxr-xr-x root/root\n-rw-r--r-- root/root\n-rw-r--r-- root/root\n");
}
