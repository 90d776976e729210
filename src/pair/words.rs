//! What the two processes say to each other, over a socket that keeps the bounds of messages.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;

/// From the worker to the monitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The deadline in the page has become shorter: look at it.
    Shorter,
    /// These lock nodes are ours.
    Nodes {
        /// The session timeout in milliseconds; after as long the nodes are gone anyway.
        session_timeout: u64,
        /// The lock nodes.
        nodes: Vec<OwnedNode>,
    },
    /// The command has stopped, or there is none yet and zklock is to stop: do as it did.
    Stop {
        /// The terminal's signal that did it.
        signal: i32,
        /// Whether the whole process group is to stop: its signal reached nobody else.
        whole_group: bool,
        /// How many times the worker was told to go on up to now. If it is more by now, this is outdated.
        continued: u64,
    },
    /// This is how zklock exits, whatever happens from now on.
    Exit(Exit),
    /// As [`Exit`](Self::Exit), and at once: the worker goes on alone, deleting its nodes.
    Leave(Exit),
    /// Every lock is held by the command that zklock runs in: become the command, with these variables added.
    Become(Vec<(String, String)>),
}

/// A lock node that may be deleted in the worker's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedNode {
    /// Its full path.
    pub path: String,
    /// The transaction that created it: a node of the same name with another isn't ours.
    pub czxid: i64,
}

/// From the monitor to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Somebody sent zklock this signal.
    Signal(i32),
    /// zklock was to stop, and the kernel didn't do it: nobody could continue it.
    NotStopped,
}

/// What came over the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<T> {
    /// A message.
    Word(T),
    /// Nothing more for now.
    Silence,
    /// The other side is gone.
    End,
}

/// One end of the socket.
#[derive(Debug)]
pub struct Line(pub(super) OwnedFd);

impl Line {
    /// Sends a message, without waiting for anybody to read it.
    pub fn say(&self, word: &impl Serialize) -> io::Result<()> {
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        send(self.0.as_raw_fd(), &serde_json::to_vec(word)?, flags)?;
        Ok(())
    }

    /// Sends a message, and waits until there is room for it: the other side may be stopped.
    pub fn say_and_wait(&self, word: &impl Serialize) -> io::Result<()> {
        let message = serde_json::to_vec(word)?;
        while let Err(error) = send(self.0.as_raw_fd(), &message, MsgFlags::MSG_NOSIGNAL) {
            if error != Errno::EINTR {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The next message, if there is one.
    pub fn hear<T: DeserializeOwned>(&self) -> Heard<T> {
        loop {
            // How long it is first: a message about many nodes is long, and most are a few bytes.
            let peek = MsgFlags::MSG_PEEK | MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
            let told = recv(self.0.as_raw_fd(), &mut [], peek).and_then(|length| {
                let mut message = vec![0; length];
                recv(self.0.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT).map(|_| message)
            });
            match told {
                Ok(message) if message.is_empty() => return Heard::End,
                Ok(message) => {
                    // Both ends are the same program, so that what isn't understood can't be.
                    if let Ok(word) = serde_json::from_slice(&message) {
                        return Heard::Word(word);
                    }
                }
                Err(Errno::ECONNRESET) => return Heard::End,
                Err(Errno::EINTR) => {}
                Err(_) => return Heard::Silence,
            }
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
