//! `check`: whether servers, timeouts and permissions are fit for locks. It looks, judges what it saw, and shows the
//! findings.

mod facts;
mod interrupt;
mod json;
mod judge;
mod look;
mod old_records;
mod probe;
mod queue;
mod table;

use anyhow::Result;

use self::interrupt::Interrupt;
use self::judge::{Verdict, judge};
use super::print;
use crate::cli::{CheckOptions, Options};
use crate::core::exit::{self, Exit};

/// It works, with warnings.
const WARNINGS: u8 = 1;

pub(super) fn run(check: &CheckOptions, options: &Options) -> Result<Exit> {
    let interrupt = Interrupt::new()?;
    let facts = look::look(check, options, &interrupt);
    // Whatever was under way is undone by now.
    if let Some(signal) = interrupt.signal() {
        return Ok(Exit::Signal(signal));
    }
    let facts = facts?;
    let findings = judge(&facts);
    let verdict = Verdict::of(&findings);
    let text = if check.json {
        json::text(&facts, &findings)?
    } else {
        table::text(&findings, options.ensemble.quiet)
    };
    Ok(match (print(text.as_bytes())?, verdict) {
        (Exit::Code(0), Verdict::Fit) => Exit::Code(0),
        (Exit::Code(0), Verdict::Warnings) => Exit::Code(WARNINGS),
        (Exit::Code(0), Verdict::Unfit) => Exit::Code(exit::FAILURE),
        (exit, _) => exit,
    })
}
