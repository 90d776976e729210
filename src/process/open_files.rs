//! The limit of open files, which the shell's `ulimit -n` shows.

use std::os::fd::RawFd;

use anyhow::{Result, ensure};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};

use super::service_manager;
use super::sys::inherited_descriptors;

/// The smallest limit with which zklock starts: POSIX promises as many.
const FEWEST: u64 = 20;

/// What zklock takes, with stdin, stdout and stderr: 14 for a lock, with TLS and the clean-up after a killed worker, and 3
/// for short files, such as those of `/proc` in a forced stop.
const TAKEN: u64 = 17;

/// The usual limit, and the least to advise.
const USUAL: u64 = 1024;

/// Fails if so few files may be open that zklock would fail later, at whatever opens one more: a command is never
/// started that zklock can't clean up after. The names of all `servers` are looked up at the same time.
///
/// # Errors
/// If the limit is too low.
pub fn check_limit(servers: usize) -> Result<()> {
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let inherited = inherited(limit);
    let told = u64::from(service_manager::is_there());
    let needed = FEWEST.max(TAKEN + servers as u64 + told + inherited);
    let because = if inherited == 0 || needed == FEWEST {
        String::new()
    } else {
        format!(", because it inherits {inherited}")
    };
    let enough = needed.max(USUAL).next_power_of_two();
    ensure!(
        limit >= needed,
        "zklock may have {limit} open files and needs {needed}{because}: raise the limit, as by 'ulimit -n {enough}' or \
         LimitNOFILE={enough}"
    );
    Ok(())
}

/// How many of the numbers below the limit inherited files have, not counting stdin, stdout and stderr. All are taken if
/// no further file may be opened. Without `/proc`, nothing is known: a run is refused for that, and a subcommand goes on.
fn inherited(limit: u64) -> u64 {
    let is_below = |number: &RawFd| u64::try_from(*number).is_ok_and(|number| number < limit);
    match inherited_descriptors() {
        Ok(numbers) => numbers.iter().filter(|number| is_below(number)).count() as u64,
        Err(error) if error.raw_os_error() == Some(Errno::EMFILE as i32) => limit.saturating_sub(3),
        Err(_) => 0,
    }
}
