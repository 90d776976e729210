//! A contender's inputs and outputs.

use uuid::Uuid;

use crate::path::LockPath;
use crate::protocol::Request;
use crate::queue::event::Event;
use crate::queue::name::{Family, Mode};

/// The settings of a contender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContenderConfig {
    /// The lock.
    pub path: LockPath,
    /// The naming scheme used on the path.
    pub family: Family,
    /// What it asks for.
    pub mode: Mode,
    /// The node's data, which describes its owner.
    pub data: Vec<u8>,
    /// The same data for an owner that waited for one of several slots and got it.
    pub data_with_slot: Vec<u8>,
    /// Give up immediately if the lock is busy, without creating anything.
    pub nonblock: bool,
    /// The source of the uuids of its attempts.
    pub ids: AttemptIds,
}

#[cfg(test)]
impl ContenderConfig {
    /// A contender for an exclusive lock at `path`.
    pub(crate) fn exclusive(path: &str) -> Self {
        Self {
            path: LockPath::parse(std::ffi::OsStr::new(path)).unwrap(),
            family: Family::Curator,
            mode: Mode::Exclusive,
            data: vec![],
            data_with_slot: vec![],
            nonblock: false,
            ids: AttemptIds(1),
        }
    }
}

/// Uuids for attempts, counted up from one that the worker draws at random, so that each is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptIds(pub u128);

impl AttemptIds {
    /// The uuids of the next session, different from all of this one's.
    #[must_use]
    pub fn of_the_next_session(self) -> Self {
        Self(self.0.wrapping_add(1 << 32))
    }

    pub(super) fn next(&mut self) -> Uuid {
        let id = Uuid::from_u128(self.0);
        self.0 = self.0.wrapping_add(1);
        id
    }
}

/// The requests and the events of a reaction, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// Requests to send.
    pub requests: Vec<Request>,
    /// What to report or to act on.
    pub events: Vec<Event>,
}

impl Reaction {
    pub(super) fn ask(request: Request) -> Self {
        Self { requests: vec![request], events: vec![] }
    }

    pub(super) fn tell(event: Event) -> Self {
        Self { requests: vec![], events: vec![event] }
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.requests.append(&mut other.requests);
        self.events.append(&mut other.events);
    }
}
