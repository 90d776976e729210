//! A Debian package is upgraded, as by apt, in a root directory of the test.

use super::{Queue, later_version};
use crate::support::{Case, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(program: &str, arguments: &[&str], case: &Case) -> String {
    let output = Command::new(program).args(arguments).current_dir(case.dir()).output().expect(program);
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A package of this version with nothing but the program, which is moved into it.
fn package(case: &Case, version: &str, program: &Path) -> String {
    let dir = case.dir().join(version);
    for below in ["DEBIAN", "usr/bin"] {
        fs::create_dir_all(dir.join(below)).unwrap();
    }
    let control = format!(
        "Package: zklock\nVersion: {version}\nArchitecture: all\n\
         Maintainer: The zklock developers <zklock@example.org>\nDescription: for a test\n"
    );
    fs::write(dir.join("DEBIAN/control"), control).unwrap();
    fs::rename(program, dir.join("usr/bin/zklock")).unwrap();
    let file = format!("zklock_{version}.deb");
    // Compressing it would take longer than all the rest.
    run("dpkg-deb", &["--root-owner-group", "-Znone", "--build", version, &file], case);
    file
}

/// Installs a package below `root`, and returns its program.
fn install(case: &Case, package: &str) -> PathBuf {
    let force = "--force-not-root,script-chrootless,bad-path,unsafe-io";
    run("dpkg", &["--root=root", "--log=/dev/null", force, "--install", package], case);
    case.dir().join("root/usr/bin/zklock")
}

#[test]
fn a_package_is_upgraded_and_removed_while_a_command_and_three_waiters_run() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return skip("dpkg is not installed");
    }
    let case = Case::new("package");
    for below in ["info", "updates"] {
        fs::create_dir_all(case.dir().join("root/var/lib/dpkg").join(below)).unwrap();
    }
    fs::write(case.dir().join("root/var/lib/dpkg/status"), "").unwrap();
    let old = package(&case, "1.0", &super::installed(&case, "old"));
    let new = package(&case, "2.0", &later_version(&case, "new"));
    let program = install(&case, &old);
    let mut queue = Queue::start(&case, &program);
    let before = fs::metadata(&program).unwrap().len();
    install(&case, &new);
    assert_ne!(fs::metadata(&program).unwrap().len(), before);
    queue.assert_their_file_is_gone();
    queue.waiters.push(case.lock(&[], ["sh", "-c", "echo ran; exit 6"]).program(&program).spawn());
    case.wait_for_contenders(5);
    run("dpkg", &["--root=root", "--log=/dev/null", "--force-not-root,bad-path", "--purge", "zklock"], &case);
    assert!(!program.exists());
    queue.assert_their_file_is_gone();
    queue.finish(&case);
}
