//! The limits of memory, which the shell's `ulimit` shows: zklock refuses to start with so little that it would crash
//! later, perhaps while the command runs.

use anyhow::{Result, ensure};
use nix::sys::resource::{Resource, getrlimit};

/// A limit, the option of `ulimit` and the key of systemd that set it, and how many KiB zklock needs.
type Limit = (Resource, &'static str, &'static str, u64);

const STACK: Limit = (Resource::RLIMIT_STACK, "ulimit -s", "LimitSTACK", 512);

/// What the threads of both processes need, with TLS and a lookup of names, and as much again.
const MEMORY: [Limit; 2] = [
    (Resource::RLIMIT_DATA, "ulimit -d", "LimitDATA", 16 << 10),
    (Resource::RLIMIT_AS, "ulimit -v", "LimitAS", 48 << 10),
];

/// Checks the limit of the stack. It comes before everything else that zklock does.
///
/// # Errors
/// If the limit is too low.
pub fn check_stack() -> Result<()> {
    check(STACK)
}

/// Checks the limits of memory.
///
/// # Errors
/// If a limit is too low.
pub fn check_memory() -> Result<()> {
    MEMORY.into_iter().try_for_each(check)
}

fn check((resource, command, key, needed): Limit) -> Result<()> {
    // A filter of system calls may forbid the question.
    let Ok((limit, _)) = getrlimit(resource) else { return Ok(()) };
    let limit = limit >> 10;
    ensure!(
        limit >= needed,
        "zklock may use {limit} KiB ({command}) and needs {needed}: raise the limit, as by '{command} unlimited' or \
         {key}=infinity"
    );
    Ok(())
}
