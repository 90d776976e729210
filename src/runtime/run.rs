//! Runs the command under its locks, in two processes: a worker, and a monitor that watches it.

use std::env;

use anyhow::{Context, Result};

use super::clock;
use super::job::become_command;
use super::job::spawn::Launch;
use super::monitor;
use super::pair::{self, InheritedState, Side};
use super::ui;
use super::worker;
use crate::cli::{Invocation, LogFormat, Options};
use crate::core::environment::{self, held_outside};
use crate::core::exit::Exit;
use crate::core::monitor::Outcome;
use crate::core::run::Plan;
use crate::core::text::printable;

/// Runs the command under its locks, and returns how zklock is to exit.
pub fn run(options: &Options) -> Result<Exit> {
    let invocation = options.lock.invocation()?;
    under_lock(options, &invocation).with_context(|| invocation.first_lock().to_string())
}

fn under_lock(options: &Options, invocation: &Invocation) -> Result<Exit> {
    let mut plan = plan(options, invocation);
    // All files are read before there are two processes that could wait for a disk.
    let settings = options.settings(plan.connect_by())?;
    plan.has_credentials = !settings.security.credentials.is_empty();
    match pair::split().context("can't start a second process to watch over the command")? {
        Side::Worker(worker) => worker::work(worker, plan, options, invocation, &settings),
        Side::Monitor(monitor) => {
            ui::mute();
            let inherited = monitor.inherited;
            let outcome = monitor::watch(monitor, invocation.first_lock(), &settings);
            ui::queue_output();
            match outcome? {
                Outcome::Exit(exit) => Ok(exit),
                Outcome::Become(variables) => Ok(under_outer_locks(invocation, &variables, inherited)),
            }
        }
    }
}

/// Runs the command without locks, because the surrounding zklock holds all of them, and its lease and monitor cover
/// the command.
fn under_outer_locks(
    invocation: &Invocation,
    variables: &[(String, String)],
    inherited: InheritedState,
) -> Exit {
    ui::step(invocation.first_lock(), "already held by the surrounding command");
    ui::drain();
    let launch = Launch::new(invocation.program.clone(), &invocation.arguments, inherited);
    let error = become_command(launch, variables);
    ui::error(invocation.first_lock(), &error);
    Exit::Code(error.code())
}

fn plan(options: &Options, invocation: &Invocation) -> Plan {
    let (lock, ensemble) = (&options.lock, &options.ensemble);
    let nonblock = lock.gives_up_at_once();
    let began = clock::now();
    let shows_line = ensemble.log_format == LogFormat::Text && ui::can_draw_line();
    Plan {
        first: invocation.first_lock().clone(),
        locks: invocation.locks.clone(),
        mode: lock.mode(),
        family: lock.family(),
        hosts: ensemble.zookeeper.to_string(),
        chroot: ensemble.zookeeper.chroot_text().to_owned(),
        has_credentials: false,
        began,
        give_up_at: lock.timeout.filter(|_| !nonblock).map(|wait| began + wait),
        connect_timeout: lock.connect_timeout(ensemble.connect_timeout),
        nonblock,
        conflict_exit_code: lock.conflict_exit_code,
        once_per: lock.once_per,
        terminates: lock.on_lost_terminates(),
        kill_after: lock.kill_after,
        command: printable(&invocation.shown.to_string_lossy()),
        shows_line,
        progress: lock.progress,
        outer: held_outside(env::var_os(environment::HELD).as_deref()),
    }
}
