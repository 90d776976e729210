//! The scheduling policy of this process.

use std::io;

use nix::libc::{self, c_int};

/// Gives this process, or the child that calls it before its exec, this policy, which isn't one for real time.
pub fn set_policy(policy: c_int) -> io::Result<()> {
    // The kernel's `sched_param`: all policies but those for real time have this priority.
    let parameters: c_int = 0;
    // SAFETY: a system call that reads a number. Not by the function of the C library: musl's only fails.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
