//! The worker: one loop, which passes events to the core and carries out the core's effects.

mod executor;
mod inbox;
mod loop_timer;
mod main_session;

use std::panic::{self, AssertUnwindSafe};

use anyhow::{Context, Result, anyhow};
use zklock_core::exit::{self, Exit};
use zklock_core::pair::Report;
use zklock_core::run::{Driver, End, Plan, Turn};

use self::executor::{Done, Executor};
use self::inbox::Events;
use self::main_session::MainSession;
use crate::ensemble::Settings;
use crate::link::{WorkerSide, clean};
use crate::output;
use crate::plan::Invocation;
use crate::process::system_error::explain;
use crate::process::{clock, sys};

/// Runs the command under its locks, tells the monitor how zklock is to exit, and ends this process.
pub fn work(mut worker: WorkerSide, plan: Plan, invocation: &Invocation, settings: &Settings) -> ! {
    output::queue_output();
    let ended = begin(&mut worker, plan, invocation, settings);
    let end = ended.with_context(|| invocation.first_lock().to_string()).unwrap_or_else(|error| {
        output::erase_line();
        log::error!("{}", explain(&error));
        if error.is::<UnattendedError>() {
            // Nothing is released here: without a final report the monitor ends every process that is left, and then
            // deletes the nodes.
            output::drain(output::WHILE_HELD);
            sys::exit_at_once(exit::FAILURE)
        }
        End::Exit(Exit::Code(exit::FAILURE))
    });
    output::drain(output::AT_THE_END);
    match end {
        End::Exit(exit) => worker.show_exit(exit),
        End::ExitNow(exit, leftover) => {
            worker.send(&Report::ExitNow(exit));
            // The remaining work needs none of the user's shell, terminal, pipes and files.
            sys::detach_from_caller();
            leftover.map(|leftover| clean(settings, leftover, || false, |_| {}));
            // For a monitor that was stopped meanwhile.
            worker.show_exit(exit);
        }
    }
    sys::exit_at_once(0)
}

fn begin(worker: &mut WorkerSide, plan: Plan, invocation: &Invocation, settings: &Settings) -> Result<End> {
    if !worker.set_up().context("can't become a subreaper")? {
        // The monitor is already dead, and nothing has been started.
        return Ok(End::Exit(Exit::Code(exit::FAILURE)));
    }
    let (emitter, mut events) = inbox::channel().context("can't make a channel for events")?;
    events.listen().context("can't listen for signals")?;
    let mut executor = Executor::new(worker, invocation, &plan, settings, emitter);
    let mut driver = Driver::begin(plan, clock::now());
    let ended = panic::catch_unwind(AssertUnwindSafe(|| run_loop(&mut driver, &mut executor, &events)));
    let ended = ended.unwrap_or_else(|_| Err(anyhow!("this is a bug in zklock")));
    ended.map_err(|error| if executor.has_begun() { unattended(error, &executor) } else { error })
}

/// Ends the command, whatever failed, before anything else: the error may have to wait for stderr. The session stays,
/// and with it the lock, until its timeout or until the monitor deletes the nodes.
fn unattended(error: anyhow::Error, executor: &Executor<'_>) -> anyhow::Error {
    let ran = executor.runs_command();
    executor.end_command();
    let what = if ran { "zklock can't control the command any more" } else { "zklock can't go on" };
    error.context(UnattendedError(what))
}

/// The run failed after it had begun: nodes may be left on the servers.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UnattendedError(&'static str);

/// Takes the turns of the run.
fn run_loop(driver: &mut Driver, executor: &mut Executor<'_>, events: &Events) -> Result<End> {
    loop {
        let mut failed = None;
        let pending = || {
            let (worker, session) = executor.sources();
            events.pending(Some(worker), session).unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        };
        let turn = driver.next(clock::now, pending);
        if let Some(error) = failed {
            return Err(error);
        }
        match turn {
            Turn::CarryOut(effect) => match executor.carry_out(effect)? {
                Done::Nothing => {}
                Done::Later => events.look_again(),
                Done::Answer(input) => {
                    events.look_again();
                    driver.answer(input);
                }
                // Not in `carry_out`, whose large frame would lie on the stack below the library's.
                Done::Connecting => executor.sources().1.into_iter().for_each(MainSession::proceed),
                Done::Over(end) => return Ok(end),
            },
            Turn::Wait(until) => {
                executor.prepare()?;
                executor.gives_sign();
                events.wait(Some(executor.sources().0), until).context("can't wait for what happens")?;
                driver.woken();
            }
        }
    }
}
