//! Files named by the user that aren't regular files: refused at once, except for pipes and `/dev/null`.

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
    for file in [case.dir(), Path::new("/dev/zero"), Path::new("/dev/ptmx"), Path::new("/dev/stdin")] {
        for zklock in uses(&case, file) {
            let output = zklock.args([case.path(), "echo", "ran"]).prelude("exec <&-").run();
            output.assert_code(125).assert_stderr(&format!("can't read {}: ", file.display()));
            // What stands in for a closed stdin can be opened again only by root.
            if file != Path::new("/dev/stdin") {
                output.assert_stderr("it is neither a regular file nor a pipe");
            }
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

/// Nobody writes to it.
#[test]
fn a_named_pipe_does_not_block_and_is_secret_by_its_mode() {
    let case = Case::new("named-pipe");
    let (fifo, open) = (case.dir().join("fifo"), case.dir().join("open"));
    mkfifo(&fifo, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    mkfifo(&open, Mode::from_bits_retain(0o644)).unwrap();
    let zklock = |file: &Path| {
        case.zklock().args(["--acl", "open", "--auth-file"]).arg(file).args([case.path(), "echo", "ran"])
    };
    zklock(&fifo).run().assert_code(125).assert_stderr("holds no credentials");
    zklock(&open).run().assert_code(125).assert_stderr("others may read or change it");
}

#[test]
fn an_empty_configuration_can_be_dev_null() {
    let case = Case::new("null");
    let output = case.lock(&["--config", "/dev/null"], ["echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}
