//! What goes into a contender and what comes out of it.

use uuid::Uuid;

use super::trouble::Trouble;
use crate::core::lock::name::{Family, Mode};
use crate::core::lock::refusal::Refusal;
use crate::core::path::LockPath;
use crate::core::protocol::{Request, ServerTime};

/// What a contender needs to know of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The lock.
    pub path: LockPath,
    /// Whose naming scheme the path belongs to.
    pub family: Family,
    /// What is asked for.
    pub mode: Mode,
    /// What the node says about its owner.
    pub data: Vec<u8>,
    /// The same, of an owner that waited for one of several slots and has got it.
    pub data_with_slot: Vec<u8>,
    /// Give up at once if the lock is busy, and create nothing then.
    pub nonblock: bool,
    /// Where the uuids of its attempts come from.
    pub ids: Ids,
}

/// Uuids for attempts, counted from one that the runtime draws at random: each is another, and nobody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ids(pub u128);

impl Ids {
    /// Those of another session: none of them is one of this one's.
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

/// A lock node of our own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnNode {
    /// Its full path.
    pub path: String,
    /// Its czxid. It only grows from one holder to the next.
    pub fencing_token: i64,
    /// When it was created.
    pub created: ServerTime,
}

/// What the user may want to hear, or the caller has to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Our node is in the queue.
    Queued(OwnNode),
    /// Somebody is ahead.
    Waiting {
        /// Name of the node just ahead.
        predecessor: String,
        /// Its data.
        data: Vec<u8>,
        /// When it was created; zero if its ACL keeps that from us.
        since: ServerTime,
        /// How many are ahead, that one included.
        ahead: usize,
        /// Name of the one that came first of all, and so holds.
        holder: String,
    },
    /// The lock is ours.
    Held,
    /// The lock is busy, and we were not to wait.
    Busy {
        /// Name of the node in the way.
        holder: String,
        /// Its data.
        data: Vec<u8>,
    },
    /// A program that doesn't wait for us came while we held the lock.
    Neighbour(Refusal),
    /// Somebody asks us to give up: who, as far as that is known.
    Revoked(Option<String>),
    /// It can't go on.
    Failed(Trouble),
}

/// What a step leads to, in order.
#[derive(Debug, Default)]
pub struct Step {
    /// To be sent.
    pub requests: Vec<Request>,
    /// To be told or acted on.
    pub news: Vec<News>,
}

impl Step {
    pub(super) fn append(&mut self, mut other: Self) {
        self.requests.append(&mut other.requests);
        self.news.append(&mut other.news);
    }
}
