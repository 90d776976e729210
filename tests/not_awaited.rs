//! A command that starts what the lock is for and ends: zklock warns of the one that it can recognize.

use crate::support::{Case, DEADLINE, wait_until};
use std::fs;
use std::os::unix::fs::symlink;

const WARNING: &str =
    "setsid doesn't wait here for what it runs, and the lock is released when setsid ends: write setsid -w";

/// setsid starts a child here, because the command leads its process group.
#[test]
fn zklock_warns_of_setsid_that_ends_before_its_job() {
    let case = Case::new("setsid");
    let done = case.dir().join("done");
    let job = format!("read line < {}; echo done > {}", case.dir().join("go").display(), done.display());
    nix::unistd::mkfifo(&case.dir().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let output = case.lock(&[], ["setsid", "sh", "-c", &job]).run();
    output.assert_code(0).assert_stderr(case.path()).assert_stderr(WARNING);
    // The lock is free while the job waits.
    assert!(!done.exists());
    case.lock(&["-n"], ["true"]).run().assert_code(0);
    fs::write(case.dir().join("go"), "go\n").unwrap();
    wait_until("the job's end", DEADLINE, || done.exists());
}

#[test]
fn the_remedy_keeps_the_lock_and_the_exit_code_without_a_warning() {
    let case = Case::new("setsid-wait");
    for options in [&["-w"][..], &["--wait"], &["-fw"]] {
        let words = [&["setsid"], options, &["sh", "-c", "exit 7"]].concat();
        let output = case.lock(&[], words).run();
        assert_eq!(output.assert_code(7).stderr, "");
    }
    let go = case.dir().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!("echo up; read line < {}", go.display());
    let job = case.lock(&[], ["setsid", "-w", "sh", "-c", &script]).spawn();
    job.wait_for_stdout("up", DEADLINE);
    case.lock(&["-n"], ["true"]).run().assert_code(124);
    fs::write(go, "go\n").unwrap();
    job.wait(DEADLINE).assert_code(0);
}

#[test]
fn setsid_is_recognized_by_its_name_alone() {
    let case = Case::new("setsid-name");
    let real =
        ["/usr/bin/setsid", "/bin/setsid"].into_iter().find(|path| fs::exists(path).is_ok_and(|there| there));
    let real = real.unwrap();
    case.lock(&[], [real, "true"]).run().assert_code(0).assert_stderr(WARNING);
    let output = case.lock(&["-q"], [real, "true"]).run();
    assert_eq!(output.assert_code(0).stderr, "");
    let other = case.dir().join("other");
    symlink("/bin/true", &other).unwrap();
    let output = case.lock(&[], [other.as_os_str(), "setsid".as_ref()]).run();
    assert_eq!(output.assert_code(0).stderr, "");
    let json = case.lock(&["--log-format", "json"], ["setsid", "true"]).run();
    json.assert_code(0).assert_stderr("\"event\":\"not_awaited\"");
}
