//! A contender's section in the history: its locks, their modes, and its times.

use std::time::Duration;

/// The number of slots of the semaphore.
pub(crate) const SLOTS: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
    Slot,
}

impl Mode {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "exclusive" => Some(Self::Exclusive),
            "shared" => Some(Self::Shared),
            "slots" => Some(Self::Slot),
            _ => None,
        }
    }

    /// Whether the two modes must not be held at the same time.
    pub(crate) fn excludes(self, other: Self) -> bool {
        !matches!((self, other), (Self::Shared, Self::Shared) | (Self::Slot, Self::Slot))
    }
}

/// A lock of a section.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) node: String,
    pub(crate) token: u64,
    pub(crate) mode: Mode,
}

impl Place {
    /// Parses `LOCK=TOKEN:NODE:MODE`.
    pub(crate) fn parse(lock: &str) -> Option<Self> {
        let (path, place) = lock.split_once('=')?;
        let [token, node, mode] = place.split(':').collect::<Vec<_>>().try_into().ok()?;
        let (path, node) = (path.to_owned(), node.to_owned());
        Some(Self { path, node, token: token.parse().ok()?, mode: Mode::parse(mode)? })
    }

    /// The epoch of the leader that created the node: the upper half of the transaction's number (zxid).
    pub(crate) fn epoch(&self) -> u64 {
        self.token >> 32
    }

    /// The lock's parent is never removed in this test, so the sequence numbers give the order of the queue.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.node.get(self.node.len().checked_sub(10)?..)?.parse().ok()
    }
}

/// A contender's section. `begun` and `last` are line numbers of the history, the times are those of its clock.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) places: Vec<Place>,
    pub(crate) begun: usize,
    pub(crate) last: usize,
    pub(crate) began_at: Duration,
    pub(crate) last_at: Duration,
    pub(crate) ended: bool,
    /// When its last process must be gone.
    pub(crate) gone: Option<Duration>,
}

impl Section {
    pub(crate) fn place(&self, path: &str) -> Option<&Place> {
        self.places.iter().find(|place| place.path == path)
    }

    pub(crate) fn active_at(&self, line: usize) -> bool {
        (self.begun..=self.last).contains(&line)
    }
}

/// Whether these modes may be held at once.
pub(crate) fn may_coexist(modes: &[Mode]) -> bool {
    let pairs =
        modes.iter().enumerate().flat_map(|(index, one)| modes[..index].iter().map(move |two| (one, two)));
    let slots = modes.iter().filter(|mode| **mode == Mode::Slot).count();
    slots <= SLOTS && pairs.into_iter().all(|(one, two)| !one.excludes(*two))
}
