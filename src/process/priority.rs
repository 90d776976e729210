//! The nice value that zklock was started with is the command's alone: on a busy host, zklock itself would be too late.

use anyhow::{Result, bail};
use nix::libc;
use rustix::process::setpriority_process;

use super::proc_file;
use super::proc_stat::ProcessStat;

/// The nice value to give the command, if zklock, of which this is the `stat`, had one above zero and may have zero.
///
/// # Errors
/// If zklock gets processor time only while no other process wants any (`SCHED_IDLE`, sched(7)): it could be too late to
/// stop a command that has lost its lock.
pub fn keep_nice_for_command(stat: &ProcessStat) -> Result<Option<i32>> {
    if stat.policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_IDLE {
        bail!(
            "the scheduling policy SCHED_IDLE could keep zklock from stopping the command when the lock is lost: give it \
             to the command only: zklock PATH -- chrt --idle 0 COMMAND"
        );
    }
    // Below a filter of system calls nothing is tried: it may kill zklock for that.
    let may_try = stat.nice > 0 && !is_filtered();
    Ok((may_try && setpriority_process(None, 0).is_ok()).then_some(stat.nice))
}

/// Gives a child between fork and exec this nice value. It is higher than zklock's own, so every user may.
pub fn set_nice(nice: i32) {
    setpriority_process(None, nice).ok();
}

fn is_filtered() -> bool {
    proc_file::read("/proc/self/status").is_ok_and(|status| status.contains("\nSeccomp:\t2"))
}
