//! The facts about servers, session and permissions that `check` gathers. Data only: `assess` draws the findings.

use std::time::Duration;

use serde::Serialize;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::name::Family;

use crate::ensemble::{RequestError, ServerReport, ServerTime};

/// All facts.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// The connect string.
    pub(super) hosts: String,
    /// Whether connections are encrypted.
    pub(super) tls: bool,
    /// The result of asking each address of each server directly.
    pub(super) servers: Vec<ServerReport>,
    /// The session timeout that was requested.
    pub(super) asked: Duration,
    /// The session timeout that was granted, or why there is no session.
    pub(super) session: Result<Duration, SessionError>,
    /// Why the session failed after it was opened, if it did.
    pub(super) broken: Option<String>,
    /// The round-trip times of quorum writes.
    pub(super) trips: Vec<Duration>,
    /// The time between TERM and KILL of a forced stop.
    pub(super) kill_after: Duration,
    /// The chroot of the connect string.
    pub(super) chroot: Option<Chroot>,
    /// The schemes and users of the credentials, without secrets.
    pub(super) credentials: Vec<String>,
    /// When the client certificate ends, in seconds since 1970.
    pub(super) own_certificate_ends: Option<u64>,
    /// The lock path of the command line.
    pub(super) path: Option<String>,
    /// The result of creating and deleting a node; `None` if that wasn't tried.
    pub(super) probe: Option<Probe>,
    /// The naming of `--naming`, with which contenders would queue.
    pub(super) family: Family,
    /// The reason why every contender would refuse the queue of the lock path, if there is one.
    pub(super) queue: Option<ContentionError>,
    /// Records of `--once-per` beside the lock and below it.
    pub(super) records: Vec<OldRecord>,
    /// The time by this host's clock.
    pub(super) now: ServerTime,
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionError {
    /// No session was opened within this time.
    TooLate(Duration),
    /// The servers refuse the credentials, or demand some.
    CredentialsRefused,
    /// Anything else.
    Other(String),
}

/// The chroot of the connect string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chroot {
    pub(super) path: String,
    pub(super) state: ChrootState,
}

/// The state of the chroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChrootState {
    /// Not known, because there was no answer.
    Unknown,
    Exists,
    Missing,
    /// It was missing, and was created.
    Created,
    /// It was missing, and couldn't be created.
    Refused(RequestError),
}

impl Chroot {
    /// Whether the chroot exists now.
    pub(super) fn exists(&self) -> bool {
        matches!(self.state, ChrootState::Exists | ChrootState::Created)
    }
}

/// The result of creating an ephemeral node and deleting it again. Paths are relative to the chroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Probe {
    /// The parent of the node: the lock path, or its nearest ancestor that exists.
    pub(super) parent: String,
    /// How far the servers' clock was ahead of this host's at the create, in milliseconds; or why the create failed.
    pub(super) create: Result<i64, RequestError>,
    /// The node's number, if it was created. A contender's would have been the same.
    pub(super) number: Option<i32>,
    /// Whether the parent's children can be listed; `None` if the parent isn't the lock path.
    pub(super) read: Option<Result<(), RequestError>>,
    /// Whether the node could be deleted; `None` if it wasn't created.
    pub(super) delete: Option<Result<(), RequestError>>,
}

/// A record of the last success of a `--once-per` command. The fields but the age are those of `check --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct OldRecord {
    #[serde(rename = "path")]
    pub(super) lock: String,
    pub(super) last_success: ServerTime,
    /// The time since then by the servers' clock.
    #[serde(skip)]
    pub(super) age: Duration,
}

impl Facts {
    /// The shortest round trip.
    pub(super) fn trip(&self) -> Option<Duration> {
        self.trips.iter().min().copied()
    }

    /// The median round trip.
    pub(super) fn median_trip(&self) -> Option<Duration> {
        let mut trips = self.trips.clone();
        trips.sort();
        trips.get(trips.len() / 2).copied()
    }

    /// How far the servers' clock is ahead of this host's, in milliseconds.
    pub(super) fn clock_ahead(&self) -> Option<i64> {
        self.probe.as_ref().and_then(|probe| probe.create.as_ref().ok().copied())
    }
}
