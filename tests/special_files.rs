//! Files named by the user that aren't regular files: refused at once, except for pipes of a shell and `/dev/null`.

use crate::support::{Case, DEADLINE, Zklock};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::path::Path;
use std::time::Duration;

/// zklock with this file as each of the options that name one. The certificate of `--tls-key` is read first.
fn uses(case: &Case, file: &Path) -> Vec<Zklock> {
    let zklock = || case.zklock().args(["--connect-timeout", "30"]);
    let own = case.dir().join("own");
    std::fs::write(&own, "").unwrap();
    let mut uses = vec![
        zklock().env("ZKLOCK_CONFIG", file),
        zklock().arg("--tls-cert").arg(&own).arg("--tls-key").arg(file),
        zklock().arg("--tls-cert").arg(file).arg("--tls-key").arg(&own),
    ];
    uses.extend(["--config", "--auth-file", "--tls-ca"].map(|option| zklock().arg(option).arg(file)));
    uses
}

#[test]
fn a_file_that_could_block_or_never_end_is_refused_at_once() {
    let case = Case::new("special");
    let fifo = case.dir().join("fifo");
    mkfifo(&fifo, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let link = case.dir().join("link");
    std::os::unix::fs::symlink(&fifo, &link).unwrap();
    for (file, kind) in [
        (&*fifo, "a named pipe"),
        (&link, "a named pipe"),
        (case.dir(), "a directory"),
        (Path::new("/dev/zero"), "a device"),
        (Path::new("/dev/ptmx"), "a device"),
    ] {
        for zklock in uses(&case, file) {
            let output = zklock.args([case.path(), "echo", "ran"]).run();
            let reason = format!("{}: it is {kind}; give a regular file or <(COMMAND)", file.display());
            output.assert_code(125).assert_stderr("can't read").assert_stderr(&reason);
            assert_eq!(output.stdout, "");
            assert!(output.elapsed < Duration::from_secs(10), "{output}");
        }
    }
}

/// `<(COMMAND)`, whose command may ask for a passphrase first, and `COMMAND | zklock --config /dev/stdin`.
#[test]
fn a_pipe_is_read_to_its_end() {
    let case = Case::new("slow-pipe");
    let label = format!("of-{}", case.marker());
    let prelude = format!(
        "exec 7< <(sleep 0.3; echo 'label ='; sleep 0.3)\nexec 8< <(sleep 0.3; echo 'label = \"{label}\"')"
    );
    let show =
        |file| case.zklock().args(["--config", file, "status", "--show-config"]).prelude(&prelude).run();
    show("/dev/fd/7").assert_code(125).assert_stderr("/dev/fd/7: line 1");
    assert!(show("/dev/fd/8").assert_code(0).stdout.contains(&label));
    let text = format!("label = \"{label}\"\n");
    let zklock = case.zklock().args(["--config", "/dev/stdin", "status", "--show-config"]);
    let output = zklock.input(text.as_bytes()).spawn().wait(DEADLINE);
    assert!(output.assert_code(0).stdout.contains(&label), "{output}");
}

#[test]
fn a_closed_standard_descriptor_is_called_closed_and_not_a_directory() {
    let case = Case::new("closed-file");
    for (file, closed) in
        [("/dev/stdin", "<&-"), ("/dev/fd/0", "<&-"), ("/proc/self/fd/1", ">&-"), ("/dev/stdin", "</")]
    {
        for zklock in uses(&case, Path::new(file)) {
            let zklock = zklock.args([case.path(), "true"]).prelude(&format!("exec {closed}"));
            let kind = if closed == "</" { "a directory" } else { "closed" };
            let reason = format!("can't read {file}: it is {kind}; give a regular file or <(COMMAND)");
            let reason = reason.replace("can't read /", "/");
            zklock.run().assert_code(125).assert_stderr(&reason);
        }
    }
}

#[test]
fn an_empty_configuration_can_be_dev_null() {
    let case = Case::new("null");
    let output = case.lock(&["--config", "/dev/null"], ["echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}
