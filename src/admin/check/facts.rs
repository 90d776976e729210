//! What was seen of a set-up. Data only: `judge` says what it means.

use std::time::Duration;

use crate::runtime::zk::{Failure, ServerReport, ServerTime};

/// All that was seen.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// The connect string.
    pub(super) hosts: String,
    /// Whether connections are encrypted.
    pub(super) tls: bool,
    /// Each address of each server, asked directly.
    pub(super) servers: Vec<ServerReport>,
    /// The session timeout that was asked for.
    pub(super) asked: Duration,
    /// The session timeout that was granted, or why there is no session.
    pub(super) session: Result<Duration, NoSession>,
    /// What went wrong after there was a session.
    pub(super) broken: Option<String>,
    /// How long answers to quorum writes took.
    pub(super) trips: Vec<Duration>,
    /// The grace of a forced stop.
    pub(super) kill_after: Duration,
    /// The chroot of the connect string.
    pub(super) chroot: Option<Chroot>,
    /// Who we say we are, without secrets.
    pub(super) credentials: Vec<String>,
    /// When our own certificate ends, in seconds since 1970.
    pub(super) own_certificate_ends: Option<u64>,
    /// The lock that was named.
    pub(super) path: Option<String>,
    /// What was tried with a node of our own.
    pub(super) probe: Option<Probe>,
    /// Records of `--once-per` below the lock's parent and the lock itself.
    pub(super) records: Vec<OldRecord>,
    /// This host's clock.
    pub(super) now: ServerTime,
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoSession {
    /// None was opened within this time.
    TooLate(Duration),
    /// The servers refuse the credentials, or demand some.
    CredentialsRefused,
    /// Anything else.
    Other(String),
}

/// The chroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chroot {
    pub(super) path: String,
    pub(super) state: ChrootState,
}

/// What became of the chroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChrootState {
    /// No server has said.
    Unknown,
    Exists,
    Missing,
    /// It was missing, and is there now.
    Created,
    /// It was missing, and could not be made.
    Refused(Failure),
}

impl Chroot {
    /// Whether there is one now.
    pub(super) fn is_there(&self) -> bool {
        matches!(self.state, ChrootState::Exists | ChrootState::Created)
    }
}

/// An ephemeral node that was made and deleted again. Its paths are below the chroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Probe {
    /// The node below which it was made: the lock path, or the nearest one above it that exists.
    pub(super) parent: String,
    /// Whether it was made, and how far the servers' clock was ahead of this host's then, in milliseconds.
    pub(super) create: Result<i64, Failure>,
    /// Whether the parent's children can be listed; only asked of the lock path.
    pub(super) read: Option<Result<(), Failure>>,
    /// Whether it could be deleted.
    pub(super) delete: Option<Result<(), Failure>>,
}

/// The record of a last success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OldRecord {
    pub(super) lock: String,
    pub(super) last_success: ServerTime,
    /// How long ago that was, by the servers' clock.
    pub(super) age: Duration,
}

impl Facts {
    /// The least time of an answer.
    pub(super) fn trip(&self) -> Option<Duration> {
        self.trips.iter().min().copied()
    }

    /// The median time of an answer.
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
