//! What docs/usage.md says to users of flock(1), tried with flock itself.

use crate::support::{Case, end, skip};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;

/// What this line prints in a shell where `$SHELL` is bash and `$lock` runs zklock with the servers of the case. Its files
/// are in the directory of the case. `None` if flock isn't installed.
fn printed(case: &Case, line: &str) -> Option<String> {
    if Command::new("flock").arg("--version").output().is_err() {
        skip("flock is not installed");
        return None;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(case.dir()).env("SHELL", "/bin/bash");
    shell.env("lock", env!("CARGO_BIN_EXE_zklock")).env("path", case.path());
    shell.env("ZKLOCK_ZOOKEEPER", case.hosts()).env("ZKLOCK_TEST_RUN", case.marker());
    let output = shell.output().expect("a shell");
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[test]
fn options_of_flock_mean_what_the_page_says() {
    let case = Case::new("flock");
    for (line, expected) in [
        ("flock file -c 'echo $0'", "/bin/bash"),
        ("$lock $path -c 'echo $0'", "/bin/sh"),
        ("$lock $path -- bash -c 'echo $0'", "bash"),
        ("flock -e file echo ran", "ran"),
        ("flock -x file echo ran", "ran"),
        ("$lock -x $path echo ran", "ran"),
        ("flock file sh -c 'flock -n file true; echo $?'", "1"),
        ("flock file sh -c 'flock -e -n file true; echo $?'", "1"),
        ("flock file sh -c 'flock -s -w 0.1 -E 7 file true; echo $?'", "7"),
        ("flock -s file flock -n -s file echo ran", "ran"),
        ("$lock $path -- env -u ZKLOCK_HELD setsid -w $lock -n $path-b echo ran", "ran"),
        ("$lock -s $path -- env -u ZKLOCK_HELD $lock -n -s $path echo ran", "ran"),
    ] {
        let Some(printed) = printed(&case, line) else { return };
        assert_eq!(printed, expected, "{line}");
    }
    let holder = case.holder();
    for (options, code) in
        [("-n", "124"), ("-w 5", "124"), ("-s -n", "124"), ("-n -E 7", "7"), ("-n -E 1", "1")]
    {
        let line = format!("$lock {options} $path true 2>&-; echo $?");
        assert_eq!(printed(&case, &line).as_deref(), Some(code), "{line}");
    }
    end(holder);
}

/// A process that the command leaves in the background keeps the lock of flock, and not that of zklock.
#[test]
fn only_a_lock_of_flock_lasts_until_the_last_process_ends() {
    let case = Case::new("flock-background");
    for (lock, again, code) in
        [("flock file", "flock -n file true", "1"), ("$lock $path", "$lock -n $path true", "0")]
    {
        let leave = format!("{lock} sh -c 'sleep 300 </dev/null >/dev/null 2>&1 & echo $!'");
        let Some(process) = printed(&case, &leave) else { return };
        assert_eq!(printed(&case, &format!("{again}; echo $?")).as_deref(), Some(code), "{lock}");
        let process = Pid::from_raw(process.parse().expect("a process"));
        kill(process, Signal::SIGKILL).expect("the process in the background");
    }
}
