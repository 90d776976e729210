//! A wait for the servers, in words: what for, for how long, for how long still, and what each server says.

use std::fmt;
use std::time::Duration;

use super::text::whole;

/// A shorter wait isn't worth a word.
pub const NOTICEABLE: Duration = Duration::from_secs(1);

/// A wait for the servers. Its text is the same in messages and in the live line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerWait {
    pub awaited: Awaited,
    /// How long it has lasted.
    pub waited: Duration,
    /// When it ends in any case: zklock gives up, or, if it holds the lock, loses it.
    pub left: Option<Duration>,
    /// Whether a command runs under the lock.
    pub holds: bool,
    /// The servers, as in the connect string.
    pub hosts: String,
    /// What each server said when it was last asked, while there is no connection.
    pub servers: Vec<String>,
}

/// What zklock waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// A session.
    Session,
    /// A connection in place of one that was lost.
    Connection,
    /// An answer over the connection that it has.
    Answer,
    /// zklock is first in the queue, and its lease has to last long enough to start the command.
    Lease,
    /// The record of a success.
    Record,
    /// The release of the locks.
    Release,
    /// The release of the places in the queue.
    Leave,
}

impl Awaited {
    /// What it is, in one word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Connection => "connection",
            Self::Answer => "answer",
            Self::Lease => "lease",
            Self::Record => "record",
            Self::Release => "release",
            Self::Leave => "leave",
        }
    }

    /// What it is, for people.
    pub fn what(self) -> &'static str {
        match self {
            Self::Session => "connecting",
            Self::Connection => "no connection to the servers",
            Self::Answer => "no answer from the servers",
            Self::Lease => "first in the queue, waiting for a fresh lease",
            Self::Record => "recording the success",
            Self::Release => "releasing",
            Self::Leave => "leaving the queue",
        }
    }
}

/// What zklock waits for. Servers that have said something are named with that.
pub fn awaiting(awaited: Awaited, hosts: &str, servers: &[String]) -> String {
    match awaited {
        Awaited::Session if servers.is_empty() => format!("connecting to {hosts}"),
        awaited => awaited.what().to_owned(),
    }
}

impl fmt::Display for ServerWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = awaiting(self.awaited, &self.hosts, &self.servers);
        write!(f, "{what} for {}", whole(self.waited))?;
        match self.left {
            Some(left) if self.holds => write!(f, "; the lease lasts for another {}", rounded_up(left))?,
            Some(left) => write!(f, ", {} left", rounded_up(left))?,
            None => {}
        }
        f.write_str(&said(&self.servers))
    }
}

/// A time in whole seconds, of which less than one is left only when there is none.
fn rounded_up(span: Duration) -> String {
    whole(span + Duration::from_millis(999))
}

/// What each server said, without the remedies, as the end of a text.
pub fn said(servers: &[String]) -> String {
    let without_remedy = |said: &String| ["; ", said.split("; ").next().unwrap_or_default()].concat();
    servers.iter().map(without_remedy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_says_what_for_how_long_how_long_still_and_what_each_server_said() {
        let span = Duration::from_secs;
        let hosts = "zk1:2181,zk2:2181".to_owned();
        let connecting = ServerWait {
            awaited: Awaited::Session,
            waited: span(3),
            left: Some(span(7)),
            holds: false,
            hosts,
            servers: vec![],
        };
        assert_eq!(connecting.to_string(), "connecting to zk1:2181,zk2:2181 for 3 s, 7 s left");
        let servers = ["zk1:2181: connection refused; nothing listens there", "zk2:2181: unknown host"];
        let told = ServerWait { servers: servers.map(str::to_owned).into(), ..connecting.clone() };
        assert_eq!(
            told.to_string(),
            "connecting for 3 s, 7 s left; zk1:2181: connection refused; zk2:2181: unknown host"
        );
        let holding = ServerWait { awaited: Awaited::Connection, holds: true, ..connecting.clone() };
        assert_eq!(
            holding.to_string(),
            "no connection to the servers for 3 s; the lease lasts for another 7 s"
        );
        let nearly_over = ServerWait { left: Some(Duration::from_millis(1)), ..connecting.clone() };
        assert!(nearly_over.to_string().ends_with(", 1 s left"));
        let endless = ServerWait { awaited: Awaited::Lease, left: None, ..connecting };
        assert_eq!(endless.to_string(), "first in the queue, waiting for a fresh lease for 3 s");
    }
}
