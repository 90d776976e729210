//! The gate between fork and exec: the child reports itself to the guard and waits for its go.
//!
//! Without it there would be a moment in which zklock is dead, the command runs, and nobody knows of it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{MsgFlags, recv, send, setsockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::{close, getpid};

use super::order::Order;

/// What the guard answers to a child that may go on.
pub(super) const GO: u8 = b'!';
/// What it answers to one that may not: zklock is dead, or the lease is over.
pub(super) const STAY: u8 = b'-';

/// How long a child waits for the guard. A guard that is silent for longer is frozen.
const PATIENCE: i64 = 2;

/// The child's side of the gate.
#[derive(Debug)]
pub struct Gate<'a> {
    channel: BorrowedFd<'a>,
    /// zklock's line to the guard. The child has a copy, which would hide zklock's death.
    control: BorrowedFd<'a>,
}

impl<'a> Gate<'a> {
    pub(super) fn new(channel: BorrowedFd<'a>, control: BorrowedFd<'a>) -> io::Result<Self> {
        setsockopt(&channel, ReceiveTimeout, &TimeVal::seconds(PATIENCE))?;
        Ok(Self { channel, control })
    }

    /// Reports this process as the leader of the job's group and waits. For the child between fork and exec:
    /// system calls only.
    pub fn pass(&self) -> io::Result<()> {
        let _ = close(self.control.as_raw_fd());
        send(self.channel.as_raw_fd(), &getpid().as_raw().to_ne_bytes(), MsgFlags::MSG_NOSIGNAL)?;
        let mut answer = [0];
        loop {
            match recv(self.channel.as_raw_fd(), &mut answer, MsgFlags::empty()) {
                Ok(1) if answer == [GO] => return Ok(()),
                Err(Errno::EINTR) => {}
                // Told to stay, or the guard is dead, or silent.
                _ => return Err(Errno::ECANCELED.into()),
            }
        }
    }

    /// The child didn't come to be the command, and is about to be reaped: the guard forgets it, and lets nobody else
    /// through. For the parent.
    pub fn withdraw(&self) {
        if let Err(error) = Order::JobOver.send(self.control) {
            log::debug!("the guard doesn't listen: {error}");
        }
    }
}

/// Whether a failed spawn failed at the gate.
pub fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::ECANCELED | nix::libc::EPIPE | nix::libc::ECONNRESET))
}
