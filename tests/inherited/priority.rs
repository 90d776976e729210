//! zklock gives up a low priority for its own processes, if it may, and the command keeps it.

use crate::support::{Case, Output, skip};
use std::process::Command;

/// Prints nice value and scheduling policy (5 is `SCHED_IDLE`) of this process, its parent, and that one's parent: the
/// command, the worker and the monitor.
const SHOW: &str = "
    show() { set -- $(sed 's/.*) //' /proc/$1/stat); parent=$2; echo ${17} ${39}; }
    show $$; show $parent; show $parent";
const NICE: &str = "chrt --other 0 nice -n 39";

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
fn zklock_gives_up_a_nice_value_and_the_command_keeps_it() {
    // zklock tries nothing below a filter of system calls.
    if bare(NICE, "grep Seccomp:.0 /proc/self/status && renice -n 0 -p $$") != "0 0" {
        return skip("a nice value can't be given up here");
    }
    let case = Case::new("low-priority");
    let zklock = case.lock(&[], ["sh", "-c", SHOW]).prelude(&format!("exec {NICE} \"$0\" \"$@\""));
    assert_shows(&zklock.run(), [&bare(NICE, "true"), "0 0", "0 0"]);
}

/// The command that the monitor becomes, because its lock is held around it.
#[test]
fn a_command_under_the_lock_around_it_keeps_a_nice_value() {
    let case = Case::new("inner-priority");
    let (hosts, path) = (case.hosts(), case.path());
    let inner = format!("exec {NICE} \"$0\" -z {hosts} --connect-timeout 100 {path} -- sh -c \"$1\"");
    let output = case.lock(&[], ["sh", "-c", &inner, env!("CARGO_BIN_EXE_zklock"), SHOW]).run();
    assert_eq!(output.assert_code(0).stdout.lines().next(), Some(&*bare(NICE, "true")), "{output}");
    assert_eq!(output.stderr, "");
}

#[test]
fn sched_idle_is_refused_and_the_remedy_works() {
    let case = Case::new("idle");
    let idle = |words: [&str; 3]| case.lock(&[], words).prelude("exec chrt --idle 0 \"$0\" \"$@\"").run();
    let refused = idle(["sh", "-c", "echo ran"]);
    refused.assert_code(125).assert_stderr("zklock PATH -- chrt --idle 0 COMMAND");
    assert_eq!(refused.stdout, "");
    let output = case.lock(&[], ["chrt", "--idle", "0", "sh", "-c", SHOW]).run();
    // The tests may have a nice value themselves, and a user can't give it up.
    let own = bare("env", "grep Seccomp:.0 /proc/self/status && renice -n 0 -p $$");
    assert_shows(&output, [&bare("chrt --idle 0", "true"), &own, &own]);
}
