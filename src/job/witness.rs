//! Shows that the kernel has stopped the command's process group.

use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

/// A process in the command's group that does nothing.
///
/// When a process reads from the terminal in the background, the kernel stops its whole group, but it reports each stop
/// only to the parent of the stopped process. If the leader ignores the signal, as that of `timeout --foreground` does,
/// zklock learns from its witness that a process of the group needs the terminal.
#[derive(Debug)]
pub struct Witness(OwnedFd);

impl Witness {
    /// The witness with this pid, which is a child of the calling process. `None` if there is none.
    pub fn new(pid: i32) -> Option<Self> {
        let pid = Pid::from_raw(pid)?;
        pidfd_open(pid, PidfdFlags::empty())
            .map(Self)
            .inspect_err(|error| log::debug!("can't watch the command's process group: {error}"))
            .ok()
    }

    /// The signal by which the group was stopped, if it was. The witness goes on, ready for the next stop.
    pub fn stopped_by(&self) -> Option<i32> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let signal = waitid(WaitId::PidFd(self.0.as_fd()), options).ok().flatten()?.stopping_signal();
        let _ = pidfd_send_signal(&self.0, Signal::CONT);
        signal
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // It is reaped like an orphan of the command.
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}
