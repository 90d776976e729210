//! A lock inside itself, where the variables that would tell were lost on the way: `sudo`, `su -`, `env -i`.

use std::process::{Command, Stdio};

use nix::unistd::geteuid;

use super::{HOLD, end, inner, outer, shell, start, words};
use crate::support::{At, Case, Proxy, SOON, Zklock, op, shared, wait_until};

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
fn also_from_far_below() {
    let case = Case::new("descent-deep");
    let deep = "n=$1; shift; [ $n = 0 ] && exec \"$@\"; sh $0 $((n - 1)) \"$@\"; exit $?";
    let file = case.dir().join("deep.sh");
    std::fs::write(&file, deep).unwrap();
    let script = ["sh", file.to_str().unwrap(), "80"].map(str::to_owned).to_vec();
    let parts = [script, forgetful(inner(&case, &["-w", "10"])), shell("echo ran")];
    outer(&case, &[], &parts).run().assert_code(125).assert_stderr("this would wait for itself");
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

/// `-n -E 0` would skip its command for ever, and say that all is well.
#[test]
fn also_if_it_does_not_wait() {
    let case = Case::new("descent-nonblock");
    for options in [&["-n", "-E", "0"][..], &["-w", "0"], &["-n", "-s"]] {
        let output = outer(&case, &[], &[forgetful(inner(&case, options)), shell("echo ran")]).run();
        output.assert_code(125).assert_stderr("this would wait for itself: PID ");
        assert_eq!(output.stdout, "");
    }
}

/// The holder adopts it, and waits for its command alone.
#[test]
fn what_a_command_that_has_ended_left_behind_waits_for_the_release() {
    let proxy = Proxy::to(shared());
    let case = Case::new("descent-leftover");
    let (left, told) = (case.dir().join("left"), case.dir().join("told"));
    let script = format!(
        "setsid env -u ZKLOCK_HELD \"$@\" >{} 2>{} </dev/null & exit 0",
        left.display(),
        told.display()
    );
    proxy.once(op::DELETE, At::Hold);
    let script = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    let wait = words(case.hosts(), &["-v"], &[case.path()]);
    let holder = Zklock::at(&proxy.connect_string(), case.marker());
    let words = [script, wait, shell("echo ran")].concat();
    let holder = holder.args([case.path(), "--"]).args(words).spawn();
    proxy.wait_fired(1, SOON);
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    wait_until("it to wait or to fail", SOON, || said().contains("waiting for") || said().contains("itself"));
    assert!(!said().contains("itself"), "{}", said());
    proxy.release();
    holder.wait(SOON).assert_code(0);
    wait_until("it to run", SOON, || std::fs::read_to_string(&left).is_ok_and(|text| text == "ran\n"));
}

/// A shell that becomes zklock leaves its children to it.
#[test]
fn a_child_that_the_holder_was_born_with_waits_as_anyone() {
    let case = Case::new("descent-inherited");
    let told = case.dir().join("told");
    let wait = words(case.hosts(), &["-v", "-w", "30"], &[case.path()]).join(" ");
    let go = case.dir().join("go");
    let prelude = format!(
        "(until [ -e {} ]; do sleep 0.01; done; exec {wait} echo ran >{told} 2>&1) &",
        go.display(),
        told = told.display()
    );
    let holder = case.lock(&[], ["sh", "-c", HOLD]).prelude(&prelude).spawn();
    holder.wait_for_stdout("inside", SOON);
    std::fs::write(go, "").unwrap();
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    wait_until("it to wait or to fail", SOON, || said().contains("waiting for") || said().contains("itself"));
    assert!(!said().contains("itself"), "{}", said());
    end(holder);
    wait_until("it to run", SOON, || said().contains("ran"));
}

#[test]
fn a_lock_that_another_holds_is_busy() {
    let case = Case::new("descent-busy");
    let b = format!("{}-b", case.path());
    let holder = case.zklock().args([&b, "--", "sh", "-c", HOLD]).spawn();
    holder.wait_for_stdout("inside", SOON);
    let parts = [forgetful(words(case.hosts(), &["-n", "-E", "9"], &[&b])), shell("echo ran")];
    outer(&case, &[], &parts).run().assert_code(9).assert_stderr("busy: held by");
    end(holder);
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
