//! Messages between the two processes, over a socket that keeps message boundaries.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How often a message is sent again for which the kernel has no memory, and the pause before that if the sender may wait.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

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
        self.try_to_send(message, MsgFlags::MSG_DONTWAIT, Duration::ZERO)
    }

    /// Sends a message, and waits until there is room for it: the other side may be stopped.
    pub fn send_and_wait(&self, message: &impl Serialize) -> io::Result<()> {
        self.try_to_send(message, MsgFlags::empty(), PAUSE)
    }

    /// Tries again if the kernel has no memory for the message just now.
    fn try_to_send(&self, message: &impl Serialize, flags: MsgFlags, pause: Duration) -> io::Result<()> {
        let message = serde_json::to_vec(message)?;
        let mut tries = 0;
        loop {
            match send(self.0.as_raw_fd(), &message, MsgFlags::MSG_NOSIGNAL | flags) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(Errno::ENOMEM | Errno::ENOBUFS) if tries < TRIES => {
                    tries += 1;
                    thread::sleep(pause);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next message, if there is one.
    pub fn receive<T: DeserializeOwned>(&self) -> Received<T> {
        loop {
            // The length is read first: a message about many nodes is long, and most have only a few bytes.
            let peek = MsgFlags::MSG_PEEK | MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
            let received = recv(self.0.as_raw_fd(), &mut [], peek).and_then(|length| {
                let mut message = vec![0; length];
                recv(self.0.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT).map(|_| message)
            });
            match received {
                Ok(message) if message.is_empty() => return Received::Closed,
                Ok(message) => {
                    // Both ends are the same program, so every message can be parsed.
                    if let Ok(message) = serde_json::from_slice(&message) {
                        return Received::Message(message);
                    }
                }
                Err(Errno::ECONNRESET) => return Received::Closed,
                Err(Errno::EINTR) => {}
                Err(_) => return Received::Nothing,
            }
        }
    }
}

impl AsFd for PairSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
