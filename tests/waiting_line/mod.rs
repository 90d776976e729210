//! The line that a terminal shows while zklock waits.

mod cost;
mod hidden;
mod jobs;
mod screen;
mod told;

use crate::support::{Case, Running, SOON, Terminal, Zklock, end, host, shared, wait_until};

/// Words of the line, and of nothing else.
const LINE: &str = ", waiting ";

/// zklock with these options and this command on a terminal that is wide enough for the line.
fn on_terminal(case: &Case, options: &[&str], command: &[&str]) -> Zklock {
    case.lock(options, command).prelude("stty cols 250").env("TERM", "xterm")
}

/// A waiter on such a terminal; returns when it watches `ahead`, which is a node of the case.
#[track_caller]
fn waiter(case: &Case, options: &[&str], command: &[&str]) -> Terminal {
    let ahead = case.contenders().pop().expect("somebody ahead");
    let waiter = on_terminal(case, options, command).in_terminal();
    wait_until_watched(case, &ahead);
    waiter
}

/// Its owner watches the node, and so does whoever waits for it.
#[track_caller]
fn wait_until_watched(case: &Case, node: &str) {
    let node = format!("{}/{node}", case.path());
    wait_until("somebody to wait", SOON, || shared().watchers_of(&node) == 2);
}

/// Somebody who holds the lock under this label.
#[track_caller]
fn holder(case: &Case, label: &str) -> Running {
    let zklock = Zklock::at(&shared().connect_string(), case.marker());
    let command = ["--", "sh", "-c", "echo running; exec sleep 60"];
    let holder = zklock.args(["--label", label, case.path()]).args(command).spawn();
    holder.wait_for_stdout("running", SOON);
    holder
}

/// Somebody who waits, on no terminal, as the last one.
#[track_caller]
fn second(case: &Case, label: &str) -> Running {
    let ahead = case.contenders().pop().expect("somebody ahead");
    let zklock = Zklock::at(&shared().connect_string(), case.marker());
    let second = zklock.args(["--label", label, case.path(), "--", "sleep", "60"]).spawn();
    wait_until_watched(case, &ahead);
    second
}
