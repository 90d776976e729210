//! The limit of open files, which the shell's `ulimit -n` shows.

use anyhow::{Result, ensure};
use nix::sys::resource::{Resource, getrlimit};

use super::sys::inherited_descriptors;

/// The smallest limit with which zklock starts: POSIX promises as many.
const FEWEST: u64 = 20;

/// What zklock takes, with stdin, stdout and stderr: 12 for a lock, with TLS too, and 2 for looking up names and for
/// finding out why a server doesn't answer.
const TAKEN: u64 = 14;

/// From this limit on, inherited files aren't counted: hardly anyone leaves so many open.
const PLENTY: u64 = 256;

/// Fails if so few files may be open that zklock would fail later, at whatever opens one more.
///
/// # Errors
/// If the limit is too low.
pub fn check_limit() -> Result<()> {
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let inherited = if limit < PLENTY { inherited(limit) } else { 0 };
    let needed = FEWEST.max(TAKEN + inherited);
    let because = if needed == FEWEST { String::new() } else { format!(", because it inherits {inherited}") };
    ensure!(
        limit >= needed,
        "zklock may have {limit} open files and needs {needed}{because}: raise the limit, as by 'ulimit -n 1024' or \
         LimitNOFILE=1024"
    );
    Ok(())
}

/// How many of the numbers below the limit inherited files have, not counting stdin, stdout and stderr. If they can't be
/// listed, all numbers are taken.
fn inherited(limit: u64) -> u64 {
    inherited_descriptors().map_or(limit, |numbers| {
        numbers.iter().filter(|&&number| u64::try_from(number).is_ok_and(|number| number < limit)).count()
            as u64
    })
}
