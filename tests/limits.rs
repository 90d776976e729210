//! Limits of memory, processes and threads: zklock refuses to start where it could only fail later, and names the limit.

use crate::support::{Case, Zklock, new_marker, skip};
use nix::unistd::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A user that has no process. `setpriv` needs no entry in `/etc/passwd`.
const USER: u32 = 61_437;

#[test]
fn too_little_memory_is_reported_before_connecting() {
    let case = Case::new("limits-memory");
    let lock = &[case.path(), "echo", "ran"][..];
    for (option, too_few, enough) in [("-d", 16_000, 32_000), ("-v", 49_000, 98_000), ("-s", 128, 512)] {
        for words in [lock, &["status", case.path()]] {
            let limited =
                |limit| case.zklock().prelude(&format!("ulimit {option} {limit}")).args(words).run();
            let output = limited(too_few);
            output
                .assert_code(125)
                .assert_stderr(&format!("zklock may use {too_few} KiB (ulimit {option}) and needs"));
            assert_eq!(output.stdout, "");
            limited(enough).assert_code(0);
        }
    }
    let output = Zklock::bare(case.marker()).prelude("ulimit -s 64").arg("--version").run();
    output.assert_code(125).assert_stderr("ulimit -s");
}

/// Each number of processes and threads from too few to enough.
#[test]
fn a_limit_of_processes_is_named_wherever_it_is_reached() {
    if !geteuid().is_root() {
        return skip("only root can become a user without processes");
    }
    let case = Case::new("limits-processes");
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("zklock");
    fs::copy(env!("CARGO_BIN_EXE_zklock"), &program).unwrap();
    for path in [dir.path(), &program] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    for words in [&["-w", "20", case.path(), "sh", "-c", "echo ran"][..], &["status", case.path()]] {
        let mut worked = 0;
        for limit in 1.. {
            let output = limited(&program, limit, case.hosts()).args(words).run();
            if output.code == Some(0) {
                worked += 1;
                assert!(!output.stderr.contains("limit"), "{output}");
            } else {
                output.assert_code(125).assert_stderr("the limit of").assert_stderr("raise 'ulimit -u'");
                worked = 0;
            }
            for riddle in ["os error", "panicked", "what the server said", "Try again", "Unexpected"] {
                assert!(!output.stderr.contains(riddle), "limit {limit}: {output}");
            }
            if worked == 2 {
                break;
            }
            assert!(limit < 20, "it never works");
        }
    }
}

/// zklock as a user that may have so many processes and threads.
fn limited(program: &Path, limit: u32, hosts: &str) -> Zklock {
    let user = [format!("--reuid={USER}"), "--clear-groups".to_owned(), "prlimit".to_owned()];
    let zklock = Zklock::bare(&new_marker()).program(Path::new("setpriv")).args(user);
    zklock
        .arg(format!("--nproc={limit}"))
        .arg(program)
        .args(["-z", hosts])
        .env("HOME", "/")
        .dir(Path::new("/"))
}
