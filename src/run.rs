//! Runs the command under its locks, in two processes: a worker, and a monitor that watches it.

use std::env;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process;

use anyhow::{Context, Result, anyhow};
use zklock_core::environment::{self, held_outside};
use zklock_core::exit::Exit;
use zklock_core::run::{Plan, Surroundings};

use super::monitor;
use super::worker;
use crate::ensemble::Settings;
use crate::link::{self, Side};
use crate::output;
use crate::plan::{Connection, Invocation};
use crate::process::clock;
use crate::process::service_manager;

/// Runs the command under its locks, and returns how zklock is to exit. `nice` is the command's nice value, if zklock
/// has a lower one.
pub fn run(plan: Plan, invocation: &Invocation, connection: &Connection, nice: Option<i32>) -> Result<Exit> {
    under_lock(plan, invocation, connection, nice).with_context(|| invocation.first_lock().to_string())
}

fn under_lock(
    plan: Plan,
    invocation: &Invocation,
    connection: &Connection,
    nice: Option<i32>,
) -> Result<Exit> {
    clock::refuse_faketime()?;
    // All files are read before there are two processes that could wait for a disk.
    let mut settings = Settings::new(connection, plan.connect_by())?;
    settings.refusals_end = plan.nonblock;
    // The usual hook would wait for a stderr that isn't read, in either process.
    panic::set_hook(Box::new(|panic| log::error!("a bug in zklock: {panic}")));
    let start = "can't start a second process to watch over the command";
    link::require_proc().context(start)?;
    warn_of_names(invocation);
    let unrelated = monitor::unrelated_children()?;
    let records = plan.once_per.is_some();
    match link::split(plan.has_terminal, nice).context(start)? {
        Side::Worker(worker) => worker::work(worker, plan, invocation, &settings),
        Side::Monitor(monitor) => {
            output::mute();
            // The worker ends the command and releases when the monitor is gone, whatever the reason.
            let watch = || monitor::watch(monitor, unrelated, records, invocation.first_lock(), &settings);
            let exit = panic::catch_unwind(AssertUnwindSafe(watch)).unwrap_or_else(|_| {
                Err(anyhow!("zklock failed while it watched over the command; this is a bug"))
            });
            output::queue_output();
            exit
        }
    }
}

/// Warns if systemd means zklock by these variables, unless the command line sets them: the command would take neither its
/// sockets nor its watchdog for its own.
fn warn_of_names(invocation: &Invocation) {
    let own = process::id().to_string();
    for name in ["LISTEN_PID", "WATCHDOG_PID"] {
        let is_set = |word: &OsString| word.to_string_lossy().contains(name);
        if env::var(name).is_ok_and(|pid| pid == own) && !invocation.arguments.iter().any(is_set) {
            let remedy = format!("run it by sh -c '{name}=$$ exec COMMAND'");
            output::warn(invocation.first_lock(), format!("{name} names zklock, not the command: {remedy}"));
        }
    }
}

/// What is around a run that begins now. A waiting line is only shown if messages are text.
pub fn surroundings(has_terminal: bool, is_text: bool) -> Surroundings {
    Surroundings {
        began: clock::now(),
        began_at: clock::host_time(),
        has_terminal,
        shows_line: is_text && output::can_draw_line(),
        notifies: service_manager::is_there(),
        outer: held_outside(env::var_os(environment::HELD).as_deref()),
    }
}
