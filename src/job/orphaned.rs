//! Orphaned process groups.
//!
//! If no process could continue a group, the kernel doesn't let the terminal stop it: it discards TTIN, TTOU and TSTP,
//! and reading from a terminal that another group has is an error. The command's group is never orphaned by itself,
//! because its parent, the worker, is of the same session. The result must be as if it were when zklock's group is.

use std::fs;

use nix::unistd::{Pid, getpgid, getsid, setpgid, setsid};

use crate::process::proc_stat;

/// Whether the group of this process is orphaned: no process in it has a parent in another group of the same session.
/// `false` if that can't be told.
pub fn is_orphaned(member: Pid) -> bool {
    let (Ok(group), Ok(session), Ok(entries)) =
        (getpgid(Some(member)), getsid(Some(member)), fs::read_dir("/proc"))
    else {
        return false;
    };
    // The parent of PID 1 has no number here.
    let could_continue = |parent: Pid| {
        parent.as_raw() > 0 && getpgid(Some(parent)) != Ok(group) && getsid(Some(parent)) == Ok(session)
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let members = pids.map(Pid::from_raw).filter(|&pid| getpgid(Some(pid)) == Ok(group));
    let mut members = members.filter_map(proc_stat::of).filter(|process| !process.is_ending);
    !members.any(|process| could_continue(Pid::from_raw(process.parent)))
}

/// Moves this process into a session of its own, which makes the group of its children in the old one orphaned, unless
/// another process could continue it. There is no way back, nor to the terminal.
pub(super) fn leave_session(job: Pid) -> nix::Result<()> {
    // The leader of a group can't leave, so this process joins another group of its session for a moment.
    setpgid(Pid::from_raw(0), job)?;
    setsid().map(drop).inspect_err(|_| {
        let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    })
}
