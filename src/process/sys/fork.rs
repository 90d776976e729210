//! Splits this process in two.

use std::io;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

/// The two processes after the fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkSide {
    /// The original process; the other one has this pid.
    Parent(Pid),
    /// The new process; the other one has this pid.
    Child(Pid),
}

/// Forks. Returns an error if there is more than one thread: the child would have only the calling thread, and locks
/// held by other threads would never be released.
pub fn split() -> io::Result<ForkSide> {
    let parent = getpid();
    if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1) {
        return Err(io::Error::other("there is more than one thread"));
    }
    // SAFETY: there is one thread, so the child finds every lock free and may do what the parent may.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(ForkSide::Parent(child)),
        ForkResult::Child => Ok(ForkSide::Child(parent)),
    }
}

/// Makes the kernel send SIGCONT to this process when `parent` dies, so that it wakes up even if it is stopped. Returns
/// whether `parent` is still alive.
pub fn wake_on_death_of(parent: Pid) -> bool {
    if let Err(error) = prctl::set_pdeathsig(Signal::SIGCONT) {
        log::debug!("can't ask to be told of the parent's death: {error}");
    }
    // The parent may have died before the call.
    getppid() == parent
}

/// Makes the kernel kill this process when `parent` dies, and returns an error if it is dead already. It stays so after
/// an exec, unless the program is a set-user-ID one or has capabilities of its own. For a child between fork and exec.
///
/// The kernel means the thread that forked, so that one must live as long as `parent`.
pub fn die_with(parent: Pid) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

/// Locks the memory that this process has used so far, and what it will use of the same mappings, so that it needs no
/// disk later. Does nothing if the limit on locked memory is too low.
pub fn lock_memory() {
    /// Only touched pages are locked (Linux 4.4).
    const MCL_ONFAULT: libc::c_int = 4;
    // SAFETY: a system call on numbers. Later mappings are left out, because locking them would make them fail for lack
    // of space.
    if unsafe { libc::mlockall(libc::MCL_CURRENT | MCL_ONFAULT) } != 0 {
        log::debug!("can't stay in memory: {}", io::Error::last_os_error());
    }
}
