//! The main job: two processes, one that works and one that watches over it.

use anyhow::{Context, Result};

use crate::acquire::Limits;
use crate::cli::{Options, Words};
use crate::clock::BootTime;
use crate::exit::Exit;
use crate::monitor::{self, Outcome};
use crate::pair::{self, Found, Side};
use crate::work::Launch;
use crate::worker;
use crate::{nest, ui};

/// Runs the command under its locks, and says how zklock is to exit.
pub fn run(options: &Options) -> Result<Exit> {
    let words = options.lock.words()?;
    under_lock(options, &words).with_context(|| words.first_lock().to_string())
}

fn under_lock(options: &Options, words: &Words) -> Result<Exit> {
    let limits = limits(options);
    // Whatever stands in files is read before there are two who might wait for a disk.
    let settings = options.settings(limits.connect_by())?;
    match pair::split().context("can't start a second process to watch over the command")? {
        Side::Worker(worker) => worker::work(worker, options, words, settings, limits),
        Side::Monitor(monitor) => {
            ui::mute();
            let outcome = monitor::watch(monitor, words.first_lock(), &settings);
            ui::speak();
            match outcome? {
                Outcome::Exit(exit) => Ok(exit),
                Outcome::Become(variables, found) => Ok(become_command(words, variables, found)),
            }
        }
    }
}

/// Every lock is held by the zklock around us, whose lease and monitor cover the command.
fn become_command(words: &Words, variables: Vec<(String, String)>, found: Found) -> Exit {
    ui::step(words.first_lock(), "held already by the command that this runs in");
    ui::drain();
    let launch = Launch {
        program: words.program.clone(),
        arguments: words.arguments.clone(),
        environment: variables,
        found,
    };
    let error = nest::become_command(launch);
    ui::error(words.first_lock(), &error);
    Exit::Code(error.code())
}

fn limits(options: &Options) -> Limits {
    let lock = &options.lock;
    let nonblock = lock.gives_up_at_once();
    let wait = lock.timeout.filter(|_| !nonblock);
    let began = BootTime::now();
    Limits {
        began,
        deadline: wait.map(|wait| began + wait),
        connect_timeout: options.ensemble.connect_timeout,
        nonblock,
        kill_after: lock.kill_after,
    }
}
