//! Checks children without reaping them (`waitid` with `WNOWAIT`), and reaps them.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::libc;
use nix::unistd::Pid;

/// Whether the child `pid` is dead and not reaped.
pub fn is_dead(pid: Pid) -> bool {
    let id = libc::id_t::try_from(pid.as_raw());
    id.is_ok_and(|id| wait(libc::P_PID, id, libc::WEXITED | libc::WNOWAIT).is_some())
}

/// The pid of any child that is dead and not reaped.
pub fn any_dead_child() -> Option<i32> {
    let info = wait(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT)?;
    // SAFETY: waitid filled `info` for a child, so the child's fields are the valid ones.
    Some(unsafe { info.si_pid() })
}

/// Whether this process has children, dead or alive.
pub fn has_children() -> bool {
    let what = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is valid for waitid to write to.
    let found = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), what) };
    found == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ECHILD)
}

fn wait(which: libc::idtype_t, id: libc::id_t, what: i32) -> Option<libc::siginfo_t> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is valid for waitid to write to, and its zeroed state, with pid zero, is a valid value if nothing
    // is written.
    let info = unsafe {
        if libc::waitid(which, id, info.as_mut_ptr(), what | libc::WNOHANG) != 0 {
            return None;
        }
        info.assume_init()
    };
    // SAFETY: either zeroed or filled for a child.
    (unsafe { info.si_pid() } != 0).then_some(info)
}

/// Reaps the child `pid` if it is dead.
pub fn reap_if_dead(pid: Pid) -> Option<ExitStatus> {
    is_dead(pid).then(|| reap(pid).ok()).flatten()
}

/// Waits for the end of the child `pid`, and reaps it.
pub fn reap(pid: Pid) -> io::Result<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid to write to.
        if unsafe { libc::waitpid(pid.as_raw(), &raw mut status, 0) } == pid.as_raw() {
            return Ok(ExitStatus::from_raw(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
