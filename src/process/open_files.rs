//! The limit of open files, which the shell's `ulimit -n` shows.

use anyhow::{Result, ensure};
use nix::sys::resource::{Resource, getrlimit};

/// The smallest limit with which zklock starts: POSIX promises as many. A lock takes 12, with TLS too; the others are for
/// files that zklock inherits, for looking up names, and for finding out why a server doesn't answer.
const FEWEST: u64 = 20;

/// Fails if so few files may be open that zklock would fail later, at whatever opens one more.
///
/// # Errors
/// If the limit is too low.
pub fn check_limit() -> Result<()> {
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(
        limit >= FEWEST,
        "zklock may have {limit} open files and needs {FEWEST}: raise the limit, as by 'ulimit -n 1024' or \
         LimitNOFILE=1024"
    );
    Ok(())
}
