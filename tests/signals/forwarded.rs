//! While the command runs, zklock forwards signals to its process group, and does nothing else with them.

use crate::support::{Case, DEADLINE, is_stopped, pass_time, signal_printer, wait_until};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

#[test]
fn a_signal_reaches_every_process_of_the_group() {
    let case = Case::new("whole-group");
    let one = signal_printer(&["TERM=0"]).join(" ");
    let script = format!(
        "trap 'echo shell' USR1; trap : TERM; {one} & {one} & {one} & echo forked; wait; wait; wait; wait"
    );
    let running = case.lock(&[], ["bash", "-c", &script]).spawn();
    let count = |text, wanted| {
        let seen = || running.stdout().count(text) == wanted;
        wait_until(&format!("{wanted} lines with {text}"), DEADLINE, seen);
    };
    count("ready", 3);
    // bash loses a trap that becomes due while it forks.
    count("forked", 1);
    running.signal(Signal::SIGUSR1);
    count("got USR1", 3);
    count("shell", 1);
    running.signal(Signal::SIGTERM);
    count("got TERM", 3);
    let output = running.wait(DEADLINE);
    output.assert_code(0);
    assert_eq!(output.stdout.matches("got USR1").count(), 3, "{output}");
    assert_eq!(output.stdout.matches("shell").count(), 1, "{output}");
}

#[test]
fn a_command_may_end_slowly_after_term() {
    let case = Case::new("slow-end");
    let go = case.dir().join("go");
    let end = format!("echo ending; kill $!; until [ -e {} ]; do sleep 0.02; done; exit 7", go.display());
    let script = format!("trap '{end}' TERM; sleep 60 & echo ready; wait");
    let running = case.lock(&["--kill-after", "0.2"], ["bash", "-c", &script]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running.signal(Signal::SIGTERM);
    running.wait_for_stdout("ending", DEADLINE);
    pass_time(Duration::from_secs(2));
    assert_eq!(case.contenders().len(), 1, "the lock is held to the end");
    assert!(running.is_running(), "{}", running.stderr().text());
    fs::write(go, "").expect("a file");
    running.wait(DEADLINE).assert_code(7);
}

#[test]
fn a_command_that_ignores_a_forwarded_term_continues() {
    let case = Case::new("ignores-term");
    let script = "n=0; trap 'echo no; n=$((n+1))' TERM; echo ready; while [ $n -lt 3 ]; do sleep 0.1; done; \
                  sleep 1; exit 4";
    let running = case.lock(&["--kill-after", "0.2"], ["bash", "-c", script]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    for _ in 0..3 {
        let before = running.stdout().count("no");
        running.signal(Signal::SIGTERM);
        let more = || running.stdout().count("no") > before;
        wait_until("the next ignored TERM", DEADLINE, more);
    }
    running.wait(DEADLINE).assert_code(4);
}

/// A stopped process can't end. Its parent, the command's first process, goes on and waits for it.
#[test]
fn a_signal_that_ends_a_command_continues_its_stopped_processes() {
    let case = Case::new("stopped-member");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        let script =
            "trap : INT TERM HUP QUIT; sh -c 'echo pid $$; kill -STOP $$; echo runs on'; echo ended $?";
        let running = case.lock(&[], ["bash", "-c", script]).spawn();
        let line = running.wait_for_stdout("pid ", DEADLINE);
        let stopped = Pid::from_raw(line.trim().rsplit(' ').next().unwrap().parse().expect("a number"));
        wait_until("the stop", DEADLINE, || is_stopped(stopped));
        running.signal(signal);
        let output = running.wait(DEADLINE);
        let expected = format!("pid {stopped}\nended {}\n", 128 + signal as i32);
        assert_eq!(output.assert_code(0).stdout, expected, "{signal}");
    }
}
