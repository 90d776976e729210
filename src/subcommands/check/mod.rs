//! `check`: whether servers, timeouts and permissions are ready for locks.
//!
//! [`gather`] collects [`facts`] from the servers, [`assess`](mod@assess) draws findings from them, and [`table`] or
//! [`json`] shows these.

mod assess;
mod facts;
mod gather;
mod interrupt;
mod json;
mod old_records;
mod probe;
mod queue;
mod table;

use anyhow::Result;
use zklock_core::exit::{self, Exit};

use self::assess::{Fitness, assess};
use self::interrupt::Interrupt;
use super::print;
use crate::cli::{CheckOptions, Options};
use crate::process::clock::refuse_faketime;

/// The exit code if locks work, with warnings.
const WARNINGS: u8 = 1;

pub(super) fn run(check: &CheckOptions, options: &Options) -> Result<Exit> {
    refuse_faketime()?;
    let interrupt = Interrupt::new()?;
    let facts = gather::gather(check, options, &interrupt);
    // The session is closed by now, and its node deleted.
    if let Some(signal) = interrupt.signal() {
        return Ok(Exit::Signal(signal));
    }
    let facts = facts?;
    let findings = assess(&facts);
    let fitness = Fitness::of(&findings);
    let text = if check.json {
        json::text(&facts, &findings)?
    } else {
        table::text(&findings, options.ensemble.quiet)
    };
    Ok(match (print(text.as_bytes())?, fitness) {
        (Exit::Code(0), Fitness::Fit) => Exit::Code(0),
        (Exit::Code(0), Fitness::Warnings) => Exit::Code(WARNINGS),
        (Exit::Code(0), Fitness::Unfit) => Exit::Code(exit::FAILURE),
        (exit, _) => exit,
    })
}
