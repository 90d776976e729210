//! Reading resumes: dropped messages are counted, and the most important ones are kept.

use super::{CTRL_Q, UnreadStderr, UnreadZklock};
use crate::support::{Case, DEADLINE, Pipe, Placed, wait_until};
use nix::sys::signal::Signal;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// A command that only KILL ends, and that counts its signals. With `-vvvv` zklock logs each signal with more than 100
/// bytes.
const IGNORES_TERM: &str = "trap '' TERM; trap 'printf . >>\"$0\"' USR1; exec 9<> <(:); printf . >\"$0\"; \
     while :; do read -rt 0.05 -u 9; done";

/// The log of this many signals is longer than the 256 KiB that zklock keeps.
const TOO_MANY: u64 = 3000;

/// Makes a holder log more than zklock keeps, and then deletes its node. The holder must report that, and is about to
/// exit.
#[track_caller]
fn overflow_the_queue(case: &Case, stderr: UnreadStderr) -> UnreadZklock {
    let count = case.dir().join("count");
    let script = format!("exec bash -c '{}' '{}'", IGNORES_TERM.replace('\'', "'\\''"), count.display());
    let holder = stderr.start(case, &["-vvvv", "--kill-after", "4"], &script);
    let counted = || fs::metadata(&count).map_or(0, |count| count.len());
    wait_until("the command", DEADLINE, || counted() > 0);
    let deadline = Instant::now() + 3 * DEADLINE;
    while counted() < TOO_MANY {
        assert!(Instant::now() < deadline, "{} signals", counted());
        holder.signal(Signal::SIGUSR1);
        // Two pending signals of a kind are merged into one.
        thread::sleep(Duration::from_micros(300));
    }
    case.delete_node(0);
    holder
}

/// Asserts that the warning and the error are there, in order, after the number of dropped messages.
#[track_caller]
fn assert_reported(text: &str) {
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in:\n{}", last(text)));
    let counted = place(" dropped: stderr was not read in time");
    let warned = place("the lock is lost: its node was deleted by another client");
    let ended = place("the lock was lost; bash was stopped");
    assert!(counted < ended && warned < ended, "{}", last(text));
    let before = text[..counted].rsplit(' ').nth(2).unwrap();
    assert!(
        before.parse::<u32>().is_ok_and(|number| number > 0),
        "the number of dropped messages: {before:?}"
    );
}

fn last(text: &str) -> &str {
    let from = text.len().saturating_sub(4000);
    text.get(from..).unwrap_or(text)
}

#[test]
fn dropped_messages_are_counted_on_a_pipe_and_on_a_terminal() {
    for stderr in [UnreadStderr::FullPipe, UnreadStderr::CtrlS] {
        let case = Case::new("heard-again");
        let mut holder = overflow_the_queue(&case, stderr);
        let lines = holder.pipe.take().map(Pipe::read);
        if let Placed::Tty(terminal, _) = &holder.process {
            terminal.send(CTRL_Q);
        }
        let output = holder.process.wait();
        output.assert_code(123);
        if let Some(lines) = lines {
            wait_until("the end of the output", DEADLINE, || lines.is_closed());
            assert_reported(&lines.text());
        } else {
            assert_reported(&output.stderr);
        }
    }
}

/// Few messages were written, and all of them are kept.
#[test]
fn a_few_unread_messages_are_kept_completely() {
    let case = Case::new("heard-late");
    let mut holder =
        UnreadStderr::FullPipe.start(&case, &["-v"], "trap 'exit 6' TERM; echo up; sleep 60 & wait");
    holder.process.wait_for("up");
    let lines = holder.pipe.take().unwrap().read();
    lines.wait_for("acquired after", DEADLINE);
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.end(DEADLINE), Ok(6));
    wait_until("the end of the output", DEADLINE, || lines.is_closed());
    let text = lines.text();
    assert!(text.contains("queued as") && text.contains("released"), "{text}");
    assert!(!text.contains(" dropped: "), "{text}");
}
