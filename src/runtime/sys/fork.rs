//! Splitting this process in two.

use std::io;

use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The process that was there before; the other one has this pid.
    Parent(Pid),
    /// The new process; the other one has this pid.
    Child(Pid),
}

/// Forks. Refused where there is more than one thread: the child would have only the calling one, and whatever the
/// others held locked would stay so.
pub fn split() -> io::Result<Half> {
    let parent = getpid();
    if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1) {
        return Err(io::Error::other("there is more than one thread"));
    }
    // SAFETY: there is one thread, so that the child finds every lock free and may do what the parent may.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(Half::Parent(child)),
        ForkResult::Child => Ok(Half::Child(parent)),
    }
}

/// Has this process continued when `parent` dies, also if it is stopped. Whether `parent` still lives.
pub fn wake_on_death_of(parent: Pid) -> bool {
    if let Err(error) = prctl::set_pdeathsig(Signal::SIGCONT) {
        log::debug!("can't ask to be told of the parent's death: {error}");
    }
    // It may have died before.
    getppid() == parent
}

/// Keeps in memory what this process has used of it up to now, and what it will use of the same mappings, so that
/// it needs no disk later. Where the limit for that is too low nothing changes.
pub fn stay_in_memory() {
    /// Only what is touched is kept (Linux 4.4).
    const MCL_ONFAULT: libc::c_int = 4;
    // SAFETY: a system call on numbers. Mappings that come later are left out: for want of room they would fail.
    if unsafe { libc::mlockall(libc::MCL_CURRENT | MCL_ONFAULT) } != 0 {
        log::debug!("can't stay in memory: {}", io::Error::last_os_error());
    }
}
