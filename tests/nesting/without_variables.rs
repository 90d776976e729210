//! A lock nested in itself, without the variables that would show it: `sudo`, `su -` and `env -i` remove them.

use std::process::{Command, Stdio};

use nix::unistd::geteuid;

use super::{HOLD, end, inner, outer, shell, start, words};
use crate::support::{At, Case, DEADLINE, Proxy, Zklock, op, shared, wait_until};

/// These words, behind a command that removes the variables.
fn without_variables(words: Vec<String>) -> Vec<String> {
    let mut all = ["env", "-u", "ZKLOCK_HELD"].map(str::to_owned).to_vec();
    all.extend(words);
    all
}

#[test]
fn a_nested_zklock_without_variables_reports_that_it_would_wait_for_itself() {
    let case = Case::new("descent");
    let output = outer(&case, &[], &[without_variables(inner(&case, &[])), shell("echo ran")]).run();
    output.assert_code(125).assert_stderr("this would wait for itself: PID ").assert_stderr("ZKLOCK_HELD");
    assert_eq!(output.stdout, "");
}

#[test]
fn self_waiting_is_detected_behind_other_waiters() {
    let case = Case::new("descent-behind");
    let go = case.dir().join("go");
    let waits = format!("echo inside; until [ -e {} ]; do sleep 0.01; done; \"$@\"", go.display());
    let script = ["sh", "-c", &waits, "sh"].map(str::to_owned).to_vec();
    let running =
        start(outer(&case, &[], &[script, without_variables(inner(&case, &[])), shell("echo ran")]));
    let other = case.lock(&["-v"], ["true"]).spawn();
    other.wait_for_line("waiting for", DEADLINE);
    std::fs::write(go, "").unwrap();
    running.wait(DEADLINE).assert_code(125).assert_stderr("this would wait for itself");
    other.wait(DEADLINE).assert_code(0);
}

#[test]
fn self_waiting_is_detected_many_processes_deep() {
    let case = Case::new("descent-deep");
    let descend = "n=$1; shift; [ $n = 0 ] && exec \"$@\"; sh $0 $((n - 1)) \"$@\"; exit $?";
    let file = case.dir().join("deep.sh");
    std::fs::write(&file, descend).unwrap();
    let script = ["sh", file.to_str().unwrap(), "80"].map(str::to_owned).to_vec();
    let parts = [script, without_variables(inner(&case, &["-w", "10"])), shell("echo ran")];
    outer(&case, &[], &parts).run().assert_code(125).assert_stderr("this would wait for itself");
}

#[test]
fn self_waiting_names_the_lock_among_several() {
    let case = Case::new("descent-several");
    let first = format!("{}-z", case.path());
    let both = words(case.hosts(), &[], &[&first, case.path()]);
    let output = outer(&case, &[], &[without_variables(both), shell("echo ran")]).run();
    output.assert_code(125).assert_stderr(&format!("zklock: {}: this would wait for itself", case.path()));
    assert_eq!(output.stdout, "");
}

#[test]
fn self_waiting_is_detected_under_another_program_name() {
    let case = Case::new("descent-renamed");
    let renamed = case.dir().join("locked");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_zklock"), &renamed).unwrap();
    let in_its_name = |options: &[&str]| {
        let mut words = inner(&case, options);
        words[0] = renamed.display().to_string();
        words
    };
    let parts = [in_its_name(&[]), without_variables(in_its_name(&["-w", "10"])), shell("echo ran")];
    let words = parts.concat();
    let script =
        format!("exec {}", words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "));
    let output = Zklock::bare(case.marker()).prelude(&script).run();
    output.assert_code(125).assert_stderr("this would wait for itself: PID ");
    assert_eq!(output.stdout, "");
}

/// `-n -E 0` would always skip its command and report success.
#[test]
fn self_waiting_is_detected_with_nonblock() {
    let case = Case::new("descent-nonblock");
    for options in [&["-n", "-E", "0"][..], &["-w", "0"], &["-n", "-s"]] {
        let output = outer(&case, &[], &[without_variables(inner(&case, options)), shell("echo ran")]).run();
        output.assert_code(125).assert_stderr("this would wait for itself: PID ");
        assert_eq!(output.stdout, "");
    }
}

/// The holder adopts the process, but waits only for its command.
#[test]
fn a_process_that_an_ended_command_left_waits_for_the_release() {
    let proxy = Proxy::to(shared());
    let case = Case::new("descent-leftover");
    let (stdout, stderr) = (case.dir().join("stdout"), case.dir().join("stderr"));
    let script = format!(
        "setsid env -u ZKLOCK_HELD \"$@\" >{} 2>{} </dev/null & exit 0",
        stdout.display(),
        stderr.display()
    );
    proxy.once(op::DELETE, At::Hold);
    let script = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    let wait = words(case.hosts(), &["-v"], &[case.path()]);
    let holder = Zklock::at(&proxy.connect_string(), case.marker());
    let words = [script, wait, shell("echo ran")].concat();
    let holder = holder.args([case.path(), "--"]).args(words).spawn();
    proxy.wait_fired(1, DEADLINE);
    let messages = || std::fs::read_to_string(&stderr).unwrap_or_default();
    wait_until("the inner zklock to wait or to fail", DEADLINE, || {
        messages().contains("waiting for") || messages().contains("itself")
    });
    assert!(!messages().contains("itself"), "{}", messages());
    proxy.release();
    holder.wait(DEADLINE).assert_code(0);
    wait_until("the inner command to run", DEADLINE, || {
        std::fs::read_to_string(&stdout).is_ok_and(|text| text == "ran\n")
    });
}

/// A shell that execs zklock leaves its children to zklock.
#[test]
fn an_unrelated_child_of_the_holder_waits_normally() {
    let case = Case::new("descent-inherited");
    let stderr = case.dir().join("stderr");
    let wait = words(case.hosts(), &["-v", "-w", "30"], &[case.path()]).join(" ");
    let go = case.dir().join("go");
    let prelude = format!(
        "(until [ -e {} ]; do sleep 0.01; done; exec {wait} echo ran >{stderr} 2>&1) &",
        go.display(),
        stderr = stderr.display()
    );
    let holder = case.lock(&[], ["sh", "-c", HOLD]).prelude(&prelude).spawn();
    holder.wait_for_stdout("inside", DEADLINE);
    std::fs::write(go, "").unwrap();
    let messages = || std::fs::read_to_string(&stderr).unwrap_or_default();
    wait_until("the inner zklock to wait or to fail", DEADLINE, || {
        messages().contains("waiting for") || messages().contains("itself")
    });
    assert!(!messages().contains("itself"), "{}", messages());
    end(holder);
    wait_until("the inner command to run", DEADLINE, || messages().contains("ran"));
}

#[test]
fn a_lock_of_another_holder_is_busy() {
    let case = Case::new("descent-busy");
    let b = format!("{}-b", case.path());
    let holder = case.zklock().args([&b, "--", "sh", "-c", HOLD]).spawn();
    holder.wait_for_stdout("inside", DEADLINE);
    let parts = [without_variables(words(case.hosts(), &["-n", "-E", "9"], &[&b])), shell("echo ran")];
    outer(&case, &[], &parts).run().assert_code(9).assert_stderr("busy: held by");
    end(holder);
}

#[test]
fn a_nested_zklock_without_variables_takes_another_slot() {
    let case = Case::new("descent-slots");
    let slots = ["--slots", "2"];
    let parts = [without_variables(inner(&case, &slots)), shell("echo ran")];
    let output = outer(&case, &slots, &parts).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

fn succeeds(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg("true").stdin(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs only where sudo works without a password, or su as root.
#[test]
fn self_waiting_is_detected_through_sudo_and_su() {
    let case = Case::new("descent-sudo");
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let run = |parts: &[Vec<String>]| outer(&case, &[], parts).run();
    let refuses = |parts: &[Vec<String>]| {
        let output = run(parts);
        output.assert_code(125).assert_stderr("this would wait for itself: PID ");
        assert_eq!(output.stdout, "");
    };
    if succeeds(&["sudo", "-n"]) {
        refuses(&[owned(&["sudo", "-n"]), inner(&case, &[]), owned(&["echo", "ran"])]);
        let preserving = owned(&["sudo", "-n", "--preserve-env=ZKLOCK_HELD"]);
        let output = run(&[preserving, inner(&case, &[]), owned(&["echo", "ran"])]);
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
    if geteuid().is_root() && succeeds(&["su", "-", "-c"]) {
        let line = format!("{} echo ran", inner(&case, &[]).join(" "));
        refuses(&[owned(&["su", "-", "-c", &line])]);
        let output = run(&[owned(&["su", "-w", "ZKLOCK_HELD", "-", "-c", &line])]);
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
}
