//! Every signal that there is, sent to zklock: it is forwarded, it ends zklock, or it means something to zklock alone.

use crate::support::{
    Case, DEADLINE, Running, command_of, freeze, is_alive, is_stopped, signal_counter, thaw, wait_until,
};
use nix::libc;
use nix::sys::signal::Signal;
use zklock::process::sys;
use zklock_core::signal::{RTMAX, RTMIN, name};

/// Faults of a process's own, which end it, and KILL.
const ENDING: [i32; 8] = [
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGKILL,
];

/// What zklock doesn't catch, or for itself alone. STOP is tested below. A process group without a parent in its
/// session isn't stopped for its terminal.
const OWN: [i32; 4] = [libc::SIGCHLD, libc::SIGTTIN, libc::SIGTTOU, libc::SIGSTOP];

/// All others.
fn forwarded() -> impl Iterator<Item = i32> {
    (1..32).chain(RTMIN..=RTMAX).filter(|signal| !ENDING.contains(signal) && !OWN.contains(signal))
}

/// Asserts that the command has got these signals and no others.
#[track_caller]
fn assert_got(running: &Running, expected: &[i32]) {
    // No number is the beginning of another one that comes later.
    running.signal_number(RTMAX);
    running.wait_for_stdout(&format!("got {RTMAX}"), DEADLINE);
    let text = running.stdout().text();
    let mut got: Vec<i32> =
        text.lines().filter_map(|line| line.split_once("got ")?.1.trim().parse().ok()).collect();
    let mut expected = [expected, &[RTMAX]].concat();
    got.sort_unstable();
    expected.sort_unstable();
    assert_eq!(got, expected);
}

fn counter(case: &Case, options: &[&str]) -> Running {
    let running = case.lock(options, signal_counter(false)).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running
}

/// Ends a command that only KILL ends, and zklock with it.
fn end(running: Running) {
    sys::send(command_of(running.pid()), libc::SIGKILL).expect("the command");
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

#[test]
fn each_signal_that_is_no_fault_of_zklock_reaches_the_command_once() {
    let case = Case::new("each-of-64");
    let running = counter(&case, &[]);
    let forwarded: Vec<i32> = forwarded().filter(|&signal| signal != RTMAX).collect();
    assert_eq!(forwarded.len(), 19 + 30);
    for &signal in &forwarded {
        running.signal_number(signal);
        running.wait_for_stdout(&format!("got {signal}"), DEADLINE);
    }
    for signal in OWN.into_iter().filter(|&signal| signal != libc::SIGSTOP) {
        running.signal_number(signal);
    }
    assert_got(&running, &forwarded);
    end(running);
}

#[test]
fn a_real_time_signal_reaches_the_command_as_often_as_it_was_sent() {
    let case = Case::new("real-time-queue");
    let running = counter(&case, &[]);
    freeze(running.pid());
    let sent = [RTMIN, 37, 37, 37, 41, 37, RTMIN];
    for signal in sent {
        running.signal_number(signal);
    }
    thaw(running.pid());
    // The CONT that continues zklock continues the command.
    assert_got(&running, &[&sent[..], &[libc::SIGCONT]].concat());
    end(running);
}

#[test]
fn a_fault_of_zklock_ends_it_and_the_command() {
    let case = Case::new("each-fault");
    for signal in ENDING {
        // Most of them would leave a core dump.
        let holder =
            case.lock(&[], ["sh", "-c", "echo holding; exec sleep 60"]).prelude("ulimit -c 0").spawn();
        holder.wait_for_stdout("holding", DEADLINE);
        let command = command_of(holder.pid());
        holder.signal_number(signal);
        let output = holder.wait(DEADLINE);
        assert_eq!(output.signal, Some(signal), "{output}");
        wait_until("the command's end", DEADLINE, || !is_alive(command));
        case.wait_for_contenders(0);
    }
}

#[test]
fn a_stop_of_zklock_is_left_to_zklock() {
    let case = Case::new("stop-alone");
    let running = counter(&case, &[]);
    freeze(running.pid());
    assert!(!is_stopped(command_of(running.pid())));
    thaw(running.pid());
    assert_got(&running, &[libc::SIGCONT]);
    end(running);
}

#[test]
fn zklock_dies_of_any_signal_that_killed_the_command() {
    let case = Case::new("dies-of-any");
    // The default of the others is to be ignored, or to stop.
    let harmless = [libc::SIGCONT, libc::SIGTSTP, libc::SIGURG, libc::SIGWINCH];
    let deadly = forwarded().filter(|signal| !harmless.contains(signal));
    // Every third of the real-time signals is enough.
    for signal in deadly.filter(|signal| *signal < RTMIN || signal % 3 == 1) {
        let holder = case.lock(&[], ["sh", "-c", "ulimit -c 0; echo holding; exec sleep 60"]).spawn();
        holder.wait_for_stdout("holding", DEADLINE);
        holder.signal_number(signal);
        let output = holder.wait(DEADLINE);
        assert_eq!(output.signal, Some(signal), "{}: {output}", name(signal));
        assert_eq!(case.contenders(), [""; 0], "released before {} ended zklock", name(signal));
    }
}

#[test]
fn a_waiter_ignores_whatever_does_not_ask_it_to_end() {
    let case = Case::new("each-waiting");
    let holder = case.holder();
    let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
    case.wait_for_contenders(2);
    waiter.signal(Signal::SIGCONT);
    let means_something =
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGCONT, libc::SIGTSTP];
    for signal in forwarded().filter(|signal| !means_something.contains(signal)) {
        waiter.signal_number(signal);
        waiter.wait_for_line(&format!("{} is ignored", name(signal)), DEADLINE);
    }
    crate::support::end(holder);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn a_forced_stop_begins_with_the_chosen_real_time_signal() {
    for (option, signal) in [("RTMIN+3", 37), ("sigrtmax-2", 62), ("50", 50)] {
        let case = Case::new("real-time-stop");
        let running = counter(&case, &["--kill-after", "60", "--signal", option]);
        case.zklock().args(["revoke", case.path()]).run().assert_code(0);
        running.wait_for_stdout(&format!("got {signal}"), DEADLINE);
        running.wait_for_stdout(&format!("got {}", libc::SIGCONT), DEADLINE);
        // The second TERM, or INT, is the end of the grace.
        running.signal(Signal::SIGTERM);
        running.wait(DEADLINE).assert_code(123);
    }
}

/// As after `setpgrp` in a script, and in what a shell with job control runs. Without a terminal the first process leads a
/// session, which it can't leave.
#[test]
fn a_command_that_joined_another_process_group_gets_each_signal_once() {
    let case = Case::new("left-its-group");
    let mut terminal = case.lock(&["--kill-after", "60"], signal_counter(true)).in_terminal();
    terminal.expect("ready", DEADLINE);
    let forwarded = [libc::SIGTERM, libc::SIGINT, libc::SIGUSR1, RTMIN + 3];
    for signal in forwarded {
        sys::send(terminal.pid(), signal).expect("zklock");
        terminal.expect(&format!("got {signal}\r\n"), DEADLINE);
    }
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    terminal.expect(&format!("got {}\r\n", libc::SIGCONT), DEADLINE);
    let text = terminal.text();
    let count = |signal| text.matches(&format!("got {signal}\r\n")).count();
    assert_eq!(forwarded.map(count), [2, 1, 1, 1], "{text}");
    sys::send(terminal.pid(), libc::SIGINT).expect("zklock");
    assert_eq!(terminal.wait(DEADLINE).code(), Some(123));
}

/// A stopped process can't end, whatever group it is in.
#[test]
fn a_stopped_command_that_joined_another_process_group_runs_on_for_a_signal_that_ends_it() {
    let case = Case::new("stopped-outside");
    let mut terminal = case.lock(&[], signal_counter(true)).in_terminal();
    terminal.expect("ready", DEADLINE);
    let command = command_of(terminal.pid());
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        freeze(command);
        sys::send(terminal.pid(), signal).expect("zklock");
        terminal.expect(&format!("got {signal}\r\n"), DEADLINE);
    }
    sys::send(command, libc::SIGKILL).expect("the command");
    terminal.wait(DEADLINE);
}
