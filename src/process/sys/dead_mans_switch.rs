//! Has the kernel kill a process group when this process dies.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::OFlag;
use nix::libc;
use nix::unistd::{Pid, pipe2};

/// Chooses the signal of a descriptor (fcntl(2)); the crate `libc` doesn't have it. It is the same number on all of
/// Linux's architectures for which there is Rust.
const F_SETSIG: i32 = 10;

/// Kills a process group when this process dies, however it dies, even if it was the last that could act.
///
/// It is an empty pipe, both ends of which only this process holds. The kernel closes the ends of a dead process one
/// after the other; the first close changes the state of the other end, and the kernel then sends that end's signal
/// (`F_SETSIG`) to that end's owner (`F_SETOWN`): KILL to the group. Both ends have signal and owner, because the order
/// isn't documented. No other process may hold an end: two dying processes could close one each at the same time.
///
/// The kernel refers to the group itself and not to its number, which may be reused.
#[derive(Debug)]
pub struct DeadMansSwitch([OwnedFd; 2]);

impl DeadMansSwitch {
    /// A switch that isn't armed yet.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
        let ends = [reader, writer];
        for end in &ends {
            control(end.as_raw_fd(), F_SETSIG, libc::SIGKILL)?;
            control(end.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC)?;
        }
        Ok(Self(ends))
    }

    /// From now on the death of the process that made the switch kills this group. For a child between fork and exec,
    /// which shares the open files: only system calls.
    pub fn arm(&self, group: Pid) -> io::Result<()> {
        self.set_owner(-group.as_raw())
    }

    /// The group is spared. A switch that is dropped while it is armed kills the group.
    pub fn disarm(self) {
        if let Err(error) = self.set_owner(0) {
            log::debug!("can't disarm the dead man's switch: {error}");
        }
    }

    fn set_owner(&self, owner: i32) -> io::Result<()> {
        self.0.iter().try_for_each(|end| control(end.as_raw_fd(), libc::F_SETOWN, owner))
    }
}

fn control(descriptor: RawFd, command: i32, argument: i32) -> io::Result<()> {
    // SAFETY: a system call on numbers; these commands read and write no memory.
    match unsafe { libc::fcntl(descriptor, command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    use super::*;

    /// A process in a group of its own, and a switch that is armed for the group.
    fn armed() -> io::Result<(Child, DeadMansSwitch)> {
        let child = Command::new("sleep").arg("60").process_group(0).spawn()?;
        let switch = DeadMansSwitch::new()?;
        switch.arm(Pid::from_raw(i32::try_from(child.id()).unwrap()))?;
        Ok((child, switch))
    }

    #[test]
    fn the_group_is_killed_whichever_end_is_closed_first() -> io::Result<()> {
        for first in [0, 1] {
            let (mut child, DeadMansSwitch(ends)) = armed()?;
            let mut ends: Vec<_> = ends.into();
            drop(ends.remove(first));
            assert_eq!(child.wait()?.signal(), Some(libc::SIGKILL));
        }
        Ok(())
    }

    #[test]
    fn a_switch_that_is_disarmed_kills_nobody() -> io::Result<()> {
        let (mut child, switch) = armed()?;
        switch.disarm();
        // The KILL of a switch is sent while it is closed, and it would be delivered before this signal.
        nix::sys::signal::kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), nix::sys::signal::SIGTERM)?;
        assert_eq!(child.wait()?.signal(), Some(libc::SIGTERM));
        Ok(())
    }
}
