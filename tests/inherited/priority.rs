//! zklock gives up a low priority for its own processes, if it may, and the command keeps it.

use crate::support::{Case, OtherUser, Output, skip};
use std::process::Command;

/// Prints nice value and scheduling policy (5 is `SCHED_IDLE`) of this process, its parent, and that one's parent: the
/// command, the worker and the monitor.
const SHOW: &str = "
    show() { set -- $(sed 's/.*) //' /proc/$1/stat); parent=$2; echo ${17} ${39}; }
    show $$; show $parent; show $parent";
const LOWEST: &str = "chrt --idle 0 nice -n 39";
const NICE: &str = "chrt --other 0 nice -n 39";
const WARNING: &str = "its scheduling policy is SCHED_IDLE; give it to the command only";

/// What a shell after these words shows of itself without zklock, once it has carried out `script`.
fn bare(words: &str, script: &str) -> String {
    let script = format!("{{ {script}; }} >/dev/null 2>&1; {SHOW}");
    let arguments = ["-c", &format!("exec {words} \"$@\""), "sh", "sh", "-c", &script];
    let output = Command::new("sh").args(arguments).output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

#[track_caller]
fn assert_shows(output: &Output, expected: [&str; 3]) {
    output.assert_code(0);
    assert_eq!(output.stdout.lines().collect::<Vec<_>>(), expected, "{output}");
    assert_eq!(output.stderr, "");
}

#[test]
fn zklock_gives_up_a_low_priority_and_the_command_keeps_it() {
    // zklock tries nothing below a filter of system calls.
    let raise = "grep Seccomp:.0 /proc/self/status && renice -n 0 -p $$ && chrt --other --pid 0 $$";
    if bare(LOWEST, raise) != "0 0" {
        return skip("a low priority can't be given up here");
    }
    let case = Case::new("low-priority");
    for words in [LOWEST, NICE] {
        let zklock = case.lock(&[], ["sh", "-c", SHOW]).prelude(&format!("exec {words} \"$0\" \"$@\""));
        assert_shows(&zklock.run(), [&bare(words, "true"), "0 0", "0 0"]);
    }
}

/// The command that the monitor becomes, because its lock is held around it.
#[test]
fn a_command_under_the_lock_around_it_keeps_a_low_priority() {
    let case = Case::new("inner-priority");
    let (hosts, path) = (case.hosts(), case.path());
    let inner = format!("exec {LOWEST} \"$0\" -z {hosts} --connect-timeout 100 {path} -- sh -c \"$1\"");
    let output = case.lock(&[], ["sh", "-c", &inner, env!("CARGO_BIN_EXE_zklock"), SHOW]).run();
    assert_eq!(output.assert_code(0).stdout.lines().next(), Some(&*bare(LOWEST, "true")), "{output}");
    assert_eq!(output.stderr, "");
}

#[test]
fn who_may_not_leave_sched_idle_is_warned() {
    let Some(user) = OtherUser::new() else { return };
    let case = Case::new("idle-user");
    let zklock = |words: &str| {
        let words: Vec<_> = ["prlimit", "--nice=0"].into_iter().chain(words.split(' ')).collect();
        // Beside other tests, idle time is rare.
        user.zklock(case.hosts(), &words).args(["--connect-timeout", "100"])
    };
    let output = zklock(LOWEST).args([case.path(), "--", "sh", "-c", SHOW]).run();
    output.assert_code(0).assert_stderr(WARNING);
    assert_eq!(output.stdout, "19 5\n".repeat(3), "{output}");
    let continues = ["--on-lost", "continue", case.path(), "--", "true"];
    assert_eq!(zklock(LOWEST).args(continues).run().assert_code(0).stderr, "");
    // The remedy.
    let output = zklock(NICE).args([case.path(), "--", "chrt", "--idle", "0", "sh", "-c", SHOW]).run();
    assert_shows(&output, ["19 5", "19 0", "19 0"]);
}
