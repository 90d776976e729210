//! Messages between the two processes, over a socket that keeps message boundaries.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::process::persist::persist;

/// The result of receiving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received<T> {
    /// A message.
    Message(T),
    /// No message for now.
    Nothing,
    /// The other side is gone.
    Closed,
}

/// One end of the socket.
#[derive(Debug)]
pub struct PairSocket(pub(super) OwnedFd);

impl PairSocket {
    /// Sends a message without waiting for it to be read.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let message = serde_json::to_vec(message)?;
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        persist(|| send(self.0.as_raw_fd(), &message, flags))?;
        Ok(())
    }

    /// The next message, if there is one.
    ///
    /// # Errors
    /// If none can be received any more, although the other side may live and send.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<Received<T>> {
        let mut was_reset = false;
        loop {
            // The length is read first: a message about many nodes is long, and most have only a few bytes.
            let peek = MsgFlags::MSG_PEEK | MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
            let receive = || {
                let mut message = vec![0; recv(self.0.as_raw_fd(), &mut [], peek)?];
                recv(self.0.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT).map(|_| message)
            };
            match persist(receive) {
                Ok(message) if message.is_empty() => return Ok(Received::Closed),
                Ok(message) => {
                    // Both ends are the same program, so every message can be parsed.
                    if let Ok(message) = serde_json::from_slice(&message) {
                        return Ok(Received::Message(message));
                    }
                }
                // The other side has ended without reading all. The kernel says so once, before what that side has sent.
                Err(Errno::ECONNRESET) if !was_reset => was_reset = true,
                Err(Errno::ECONNRESET) => return Ok(Received::Closed),
                Err(Errno::EAGAIN) => return Ok(Received::Nothing),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for PairSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    use super::*;

    #[test]
    fn what_a_side_sent_before_it_ended_is_received_although_it_has_not_read_all() -> io::Result<()> {
        let (one, other) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        let (one, other) = (PairSocket(one), PairSocket(other));
        one.send(&"unread")?;
        other.send(&"last")?;
        drop(other);
        assert_eq!(one.receive::<String>()?, Received::Message("last".to_owned()));
        assert_eq!(one.receive::<String>()?, Received::Closed);
        Ok(())
    }
}
