//! A lock inside itself, where the variables that would tell were lost on the way: `sudo`, `su -`, `env -i`.

use std::process::{Command, Stdio};

use nix::unistd::geteuid;

use super::{inner, outer, shell, start, words};
use crate::support::{Case, SOON, Zklock};

/// The words of `inner`, behind something that loses the variables.
fn forgetful(words: Vec<String>) -> Vec<String> {
    let mut all = ["env", "-u", "ZKLOCK_HELD"].map(str::to_owned).to_vec();
    all.extend(words);
    all
}

#[test]
fn without_its_variables_it_says_that_it_would_wait_for_itself() {
    let case = Case::new("descent");
    let output = outer(&case, &[], &[forgetful(inner(&case, &[])), shell("echo ran")]).run();
    output.assert_code(125).assert_stderr("this would wait for itself: PID ").assert_stderr("ZKLOCK_HELD");
    assert_eq!(output.stdout, "");
}

#[test]
fn also_behind_others() {
    let case = Case::new("descent-behind");
    let go = case.dir().join("go");
    let waits = format!("echo inside; until [ -e {} ]; do sleep 0.01; done; \"$@\"", go.display());
    let script = ["sh", "-c", &waits, "sh"].map(str::to_owned).to_vec();
    let running = start(outer(&case, &[], &[script, forgetful(inner(&case, &[])), shell("echo ran")]));
    let other = case.lock(&["-v"], ["true"]).spawn();
    other.wait_for_line("waiting for", SOON);
    std::fs::write(go, "").unwrap();
    running.wait(SOON).assert_code(125).assert_stderr("this would wait for itself");
    other.wait(SOON).assert_code(0);
}

#[test]
fn of_several_locks_the_one_that_it_would_wait_for_is_named() {
    let case = Case::new("descent-several");
    let first = format!("{}-z", case.path());
    let both = words(case.hosts(), &[], &[&first, case.path()]);
    let output = outer(&case, &[], &[forgetful(both), shell("echo ran")]).run();
    output.assert_code(125).assert_stderr(&format!("zklock: {}: this would wait for itself", case.path()));
    assert_eq!(output.stdout, "");
}

#[test]
fn also_if_the_program_has_another_name() {
    let case = Case::new("descent-renamed");
    let renamed = case.dir().join("locked");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_zklock"), &renamed).unwrap();
    let in_its_name = |options: &[&str]| {
        let mut words = inner(&case, options);
        words[0] = renamed.display().to_string();
        words
    };
    let parts = [in_its_name(&[]), forgetful(in_its_name(&["-w", "10"])), shell("echo ran")];
    let words = parts.concat();
    let script =
        format!("exec {}", words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "));
    let output = Zklock::bare(case.marker()).prelude(&script).run();
    output.assert_code(125).assert_stderr("this would wait for itself: PID ");
    assert_eq!(output.stdout, "");
}

#[test]
fn another_slot_is_taken() {
    let case = Case::new("descent-slots");
    let slots = ["--slots", "2"];
    let parts = [forgetful(inner(&case, &slots)), shell("echo ran")];
    let output = outer(&case, &slots, &parts).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

fn works(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg("true").stdin(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Becoming root needs no password only for root, and sudo isn't everywhere.
#[test]
fn through_sudo_and_su() {
    let case = Case::new("descent-sudo");
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let run = |parts: &[Vec<String>]| outer(&case, &[], parts).run();
    let refuses = |parts: &[Vec<String>]| {
        let output = run(parts);
        output.assert_code(125).assert_stderr("this would wait for itself: PID ");
        assert_eq!(output.stdout, "");
    };
    if works(&["sudo", "-n"]) {
        refuses(&[owned(&["sudo", "-n"]), inner(&case, &[]), owned(&["echo", "ran"])]);
        let kept = owned(&["sudo", "-n", "--preserve-env=ZKLOCK_HELD"]);
        let output = run(&[kept, inner(&case, &[]), owned(&["echo", "ran"])]);
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
    if geteuid().is_root() && works(&["su", "-", "-c"]) {
        let line = format!("{} echo ran", inner(&case, &[]).join(" "));
        refuses(&[owned(&["su", "-", "-c", &line])]);
        let output = run(&[owned(&["su", "-w", "ZKLOCK_HELD", "-", "-c", &line])]);
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
}
