//! The worker: one loop, which passes events to the core and carries out the core's effects.

mod executor;
mod inbox;
mod side_sessions;

use std::process;

use anyhow::{Context, Result};

use self::executor::{Done, Executor};
use self::inbox::Events;
use crate::core::exit::{self, Exit};
use crate::core::pair::Report;
use crate::core::run::{Driver, End, Plan, Step};
use crate::ensemble::Settings;
use crate::link::{WorkerSide, clean};
use crate::output;
use crate::plan::Job;
use crate::process::system_error::explain;
use crate::process::{clock, sys};

/// Runs the command under its locks, tells the monitor how zklock is to exit, and ends this process.
pub fn work(worker: WorkerSide, plan: Plan, job: &Job, settings: &Settings) -> ! {
    output::queue_output();
    let reporter = worker.reporter();
    let ended = begin(worker, plan, job, settings);
    let end = ended.with_context(|| job.invocation.first_lock().to_string()).unwrap_or_else(|error| {
        output::erase_line();
        log::error!("{}", explain(&error));
        if error.is::<UnattendedError>() {
            // The command may still run, and nothing may be released: without a final report the monitor ends every
            // process that is left, and then releases.
            output::drain_at_the_end();
            process::exit(exit::FAILURE.into())
        }
        End::Exit(Exit::Code(exit::FAILURE))
    });
    output::drain_at_the_end();
    match end {
        End::Exit(exit) => reporter.send_final_exit(exit),
        End::Become(variables) => reporter.send_final(&Report::Become(variables)),
        End::Leave(exit, leftover) => {
            reporter.send(&Report::Leave(exit));
            // The remaining work needs none of the user's shell, terminal, pipes and files.
            sys::detach_from_caller();
            leftover.map(|leftover| clean(settings, &leftover, || false));
            // For a monitor that was stopped meanwhile.
            reporter.send_final_exit(exit);
        }
    }
    sys::exit_at_once(0)
}

fn begin(worker: WorkerSide, plan: Plan, job: &Job, settings: &Settings) -> Result<End> {
    if !worker.set_up().context("can't become a subreaper")? {
        // The monitor is already dead, and nothing has been started.
        return Ok(End::Exit(Exit::Code(exit::FAILURE)));
    }
    let (emitter, mut events) = inbox::channel().context("can't make a channel for events")?;
    events.listen(worker.orders()).context("can't listen for signals")?;
    let mut executor = Executor::new(worker, job, plan.mode, settings, emitter);
    run_loop(Driver::begin(plan, clock::now()), &mut executor, &events)
        .map_err(|error| if executor.has_begun() { UnattendedError(error).into() } else { error })
}

/// Nodes are left on the servers or the command is running, and zklock can't control them any more.
#[derive(Debug, thiserror::Error)]
#[error("zklock can't control the command any more: {}", explain(.0))]
struct UnattendedError(anyhow::Error);

/// Carries out the steps of the run.
fn run_loop(mut driver: Driver, executor: &mut Executor<'_>, events: &Events) -> Result<End> {
    loop {
        match driver.next(clock::now, || events.pending()) {
            Step::CarryOut(effect) => match executor.carry_out(effect)? {
                Done::Nothing => {}
                Done::Answer(input) => driver.answer(input),
                Done::Over(end) => return Ok(end),
            },
            Step::Wait(until) => {
                events.wait(until).context("can't wait for what happens")?;
                driver.woken();
            }
        }
    }
}
