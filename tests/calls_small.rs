//! A system call of zklock fails or takes long: a few runs. `scripts/chaos --calls` makes hundreds, drawn from a seed.

use crate::failing_call::FailingCall;
use crate::support::{Case, has_strace};
use std::time::Duration;

#[track_caller]
fn assert_all_end_well(failing: &[(&'static str, &'static str, u64)]) {
    assert_each_ends_well(failing, false);
}

#[track_caller]
fn assert_each_ends_well(failing: &[(&'static str, &'static str, u64)], lasts: bool) {
    if !has_strace() {
        return;
    }
    for (turn, &(call, effect, when)) in failing.iter().enumerate() {
        let (waits, is_terminated) = (turn % 2 == 0, turn % 3 == 0);
        let after = Duration::from_millis(300);
        let call = FailingCall { call, effect, when, lasts, waits, is_terminated, after };
        let ended = call.run(&Case::new("call"));
        ended.unwrap_or_else(|wrong| panic!("{call}: {wrong}"));
    }
}

#[test]
fn when_a_call_fails_at_the_start() {
    assert_all_end_well(&[
        ("socketpair", "error=EMFILE", 1),
        ("eventfd2", "error=EMFILE", 2),
        ("timerfd_settime", "error=ENOMEM", 1),
        ("clone3", "error=EAGAIN", 1),
        ("setpgid", "error=EIO", 1),
    ]);
}

#[test]
fn when_a_call_fails_in_the_queue_or_later() {
    assert_all_end_well(&[
        ("poll", "error=ENOMEM", 3),
        ("read", "error=EIO", 45),
        ("recvfrom", "error=ENOMEM", 40),
        // This one is TERM to the worker.
        ("sendto", "error=EMFILE", 1),
        ("timerfd_settime", "error=ENOMEM", 6),
        ("write", "error=ENOSPC", 4),
    ]);
}

#[test]
fn when_all_calls_fail_from_some_time_on() {
    let failing = [
        ("read", "error=EIO", 45),
        ("recvfrom", "error=ENOMEM", 40),
        ("sendto", "error=EIO", 1),
        ("waitid", "error=EIO", 3),
        ("timerfd_settime", "error=ENOMEM", 9),
        ("all", "delay_enter=1000", 1),
    ];
    assert_each_ends_well(&failing, true);
}

#[test]
fn when_a_call_takes_long() {
    assert_all_end_well(&[
        ("close", "delay_enter=300000", 5),
        ("poll", "delay_enter=500000", 3),
        ("openat", "delay_enter=300000", 15),
    ]);
}

/// A busy machine may run the thread that writes messages late.
#[test]
fn a_reason_is_written_however_late_its_thread_runs() {
    if !has_strace() {
        return;
    }
    for call in ["set_robust_list", "write"] {
        let late =
            format!("exec strace -f -qq -o /dev/null -e inject={call}:delay_enter=1500000 \"$0\" \"$@\"");
        let output = Case::new("late-message").zklock().arg("--no-such-option").prelude(&late).run();
        assert!(output.assert_code(125).stderr.contains("unexpected argument"), "{call}: {output}");
    }
}

/// A signal that can't be read may be the command's end.
#[test]
fn when_no_signal_can_be_read() {
    assert_all_end_well(&[("read", "error=EIO", 31)]);
}

#[test]
fn a_wait_for_which_there_is_no_memory_costs_nothing() {
    for (effect, when) in [("error=ENOMEM", 3), ("error=EAGAIN", 6)] {
        let (waits, is_terminated, after) = (false, false, Duration::from_millis(300));
        let call = FailingCall { call: "poll", effect, when, lasts: false, waits, is_terminated, after };
        if has_strace() {
            let ended = call.run(&Case::new("call"));
            ended.unwrap_or_else(|wrong| panic!("{call}: {wrong}")).assert_code(7);
        }
    }
}
