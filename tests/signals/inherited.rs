//! Signals that are ignored or blocked when zklock starts are ignored or blocked for the command too.

use crate::support::{Case, DEADLINE, signal_printer};
use nix::sys::signal::Signal;

const SHOW: &str = "grep -E ^Sig(Ign|Blk|Cgt) /proc/self/status";

/// Executes another program with some signals ignored or blocked. A shell can't do that for all signals.
fn perl(statements: &str, then: &str) -> String {
    format!("exec perl -MPOSIX -e '{statements}; exec @ARGV or die' {then}")
}

/// Asserts that the command sees the same dispositions under zklock as without it.
#[track_caller]
fn assert_same_under_zklock(name: &str, prelude: impl Fn(&str) -> String) {
    let case = Case::new(name);
    let show: Vec<_> = SHOW.split(' ').collect();
    let quoted = show.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>();
    let bare = case.lock(&[], ["false"]).prelude(&prelude(&quoted.join(" "))).run();
    bare.assert_code(0);
    assert!(bare.stdout.contains("SigIgn"), "{bare}");
    let wrapped = case.lock(&[], show).prelude(&prelude("\"$0\" \"$@\"")).run();
    wrapped.assert_code(0);
    assert_eq!(wrapped.stdout, bare.stdout);
}

#[test]
fn signal_dispositions_are_unchanged_by_default() {
    assert_same_under_zklock("signals-default", |then| format!("exec {then}"));
}

#[test]
fn ignored_signals_stay_ignored() {
    for set in ["HUP", "INT", "TERM", "PIPE", "XFSZ", "QUIT USR1 USR2 ALRM", "TSTP TTIN TTOU"] {
        assert_same_under_zklock("signals-ignored", |then| format!("trap '' {set}; exec {then}"));
    }
}

/// bash can't ignore all of them.
#[test]
fn ignored_signals_that_few_programs_use_stay_ignored() {
    for set in ["PWR", "IO", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "STKFLT", "RTMIN", "NUM37", "RTMAX"] {
        assert_same_under_zklock("rare-ignored", |then| perl(&format!("$SIG{{{set}}} = \"IGNORE\""), then));
    }
}

#[test]
fn an_ignored_child_signal_stays_ignored_and_the_end_of_the_command_is_noticed() {
    assert_same_under_zklock("chld-ignored", |then| perl("$SIG{CHLD} = \"IGNORE\"", then));
}

#[test]
fn blocked_signals_stay_blocked() {
    for set in ["SIGUSR1", "SIGTERM, SIGINT, SIGHUP", "SIGTTOU, SIGTSTP, SIGPIPE", "30, 29, 23, 34, 37, 64"] {
        let block = format!("sigprocmask(SIG_BLOCK, POSIX::SigSet->new({set}))");
        assert_same_under_zklock("signals-blocked", |then| perl(&block, then));
    }
}

#[test]
fn a_blocked_child_signal_stays_blocked_and_the_end_of_the_command_is_noticed() {
    let block = "sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGCHLD))";
    assert_same_under_zklock("chld-blocked", |then| perl(block, then));
}

#[test]
fn an_ignored_hangup_is_not_forwarded() {
    let case = Case::new("ignored-hup");
    let running = case.lock(&[], signal_printer(&["TERM=3"])).prelude("trap '' HUP").spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running.signal(Signal::SIGHUP);
    running.signal(Signal::SIGUSR1);
    running.wait_for_stdout("got USR1", DEADLINE);
    running.signal(Signal::SIGTERM);
    let output = running.wait(DEADLINE);
    assert!(!output.assert_code(3).stdout.contains("HUP"), "{output}");
}

#[test]
fn a_waiter_that_ignores_hangups_continues_to_wait() {
    let case = Case::new("ignored-hup-waiting");
    let holder = case.holder();
    let waiter = case.lock(&[], ["true"]).prelude("trap '' HUP INT").spawn();
    case.wait_for_contenders(2);
    waiter.signal(Signal::SIGHUP);
    waiter.signal(Signal::SIGINT);
    // Later than the ignored ones: a waiter that handled those would do so first.
    waiter.signal(Signal::SIGCONT);
    assert_eq!(case.contenders().len(), 2);
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
    waiter.wait(DEADLINE).assert_code(0);
}

#[test]
fn a_broken_pipe_ends_the_writer_as_without_zklock() {
    let case = Case::new("sigpipe");
    let script = "yes | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}";
    let run = |prelude: &str| {
        let run = case.lock(&[], ["bash", "-c", script]).prelude(prelude).run();
        run.assert_code(0);
        run.stdout.trim().to_owned()
    };
    assert_eq!(run(""), "141");
    assert_eq!(run("trap '' PIPE"), "1");
}
