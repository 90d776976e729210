//! The live line, which a terminal shows while zklock waits.

mod content;
mod hidden;
mod job_control;
mod screen;
mod servers;

use crate::support::{Case, DEADLINE, Terminal, Zklock, end, host, shared, wait_until};

/// A text that, without `-v`, only the live line contains.
const LINE: &str = ": position ";

/// zklock with these options and this command on a terminal that is wide enough for the line.
fn on_terminal(case: &Case, options: &[&str], command: &[&str]) -> Zklock {
    case.lock(options, command).prelude("stty cols 250").env("TERM", "xterm")
}

/// Starts a waiter on such a terminal, and returns when it watches the last contender.
#[track_caller]
fn waiter(case: &Case, options: &[&str], command: &[&str]) -> Terminal {
    let ahead = case.contenders().pop().expect("a contender ahead");
    let waiter = on_terminal(case, options, command).in_terminal();
    wait_until_watched(case, &ahead);
    waiter
}

/// Waits until two clients watch the node: its owner and its successor.
#[track_caller]
fn wait_until_watched(case: &Case, node: &str) {
    let node = format!("{}/{node}", case.path());
    wait_until("a waiter", DEADLINE, || shared().watchers_of(&node) == 2);
}
