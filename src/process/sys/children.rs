//! Checks children without reaping them (`waitid` with `WNOWAIT`), and reaps them.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

use crate::process::persist::persist;

/// Whether the child `pid` is dead and not reaped.
pub fn is_dead(pid: Pid) -> bool {
    let id = libc::id_t::try_from(pid.as_raw());
    id.is_ok_and(|id| matches!(wait(libc::P_PID, id, libc::WEXITED | libc::WNOWAIT), Ok(Some(_))))
}

/// The pid of any child that is dead and not reaped.
pub fn any_dead_child() -> Option<i32> {
    let info = wait(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT).ok()??;
    // SAFETY: waitid filled `info` for a child, so the child's fields are the valid ones.
    Some(unsafe { info.si_pid() })
}

/// The child that has changed as `what` says, if one has.
fn wait(which: libc::idtype_t, id: libc::id_t, what: i32) -> nix::Result<Option<libc::siginfo_t>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is valid for waitid to write to, and its zeroed state, with pid zero, is a valid value if nothing
    // is written.
    let info = unsafe {
        Errno::result(libc::waitid(which, id, info.as_mut_ptr(), what | libc::WNOHANG))?;
        info.assume_init()
    };
    // SAFETY: either zeroed or filled for a child.
    Ok((unsafe { info.si_pid() } != 0).then_some(info))
}

/// Reaps the child `pid` if it is dead.
pub fn reap_if_dead(pid: Pid) -> io::Result<Option<ExitStatus>> {
    reap_with(pid, libc::WNOHANG)
}

/// Waits for the end of the child `pid`, and reaps it.
pub fn reap(pid: Pid) -> io::Result<ExitStatus> {
    reap_with(pid, 0)?.ok_or_else(|| Errno::ECHILD.into())
}

fn reap_with(pid: Pid, options: i32) -> io::Result<Option<ExitStatus>> {
    let mut status = 0;
    // SAFETY: `status` is valid to write to.
    let reaped = persist(|| Errno::result(unsafe { libc::waitpid(pid.as_raw(), &raw mut status, options) }))?;
    Ok((reaped != 0).then(|| ExitStatus::from_raw(status)))
}
