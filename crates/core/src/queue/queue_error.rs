//! Reasons why a queue can't be trusted to exclude other contenders. Pure.

use thiserror::Error;

use super::name::{Family, Mode, Name};
use crate::text::printable;

/// Numbers this close to the end of the counter are refused. At the end a server gives out numbers twice, or negative
/// ones, and the order is lost; refusing while thousands of numbers are left keeps the queue out of that state.
pub const SEQUENCE_LIMIT: i32 = i32::MAX - 100_000;

/// Why a queue is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueueError {
    /// A node of another naming scheme is queued here; its owner would not see zklock's nodes.
    #[error(
        "{node} is queued here and follows the naming of {family}, whose clients don't see zklock's nodes: \
         --naming {family} queues with it, or use another path"
    )]
    OtherFamily {
        /// The other node.
        node: String,
        /// Its naming scheme.
        family: Family,
    },
    /// By its name, this child belongs to a recipe that zklock doesn't support; its owner would run at the same time.
    #[error(
        "{} looks like a node of another lock recipe, which would run beside zklock: choose another path",
        printable(_0)
    )]
    OtherRecipe(String),
    /// A contender ahead uses this path with another number of holders.
    #[error("{node} is queued ahead for {}, and this is for {}: all contenders of a path must agree", theirs.asked(), ours.asked())]
    OtherKind {
        /// The other node.
        node: String,
        /// What it asks for.
        theirs: Mode,
        /// What zklock asks for.
        ours: Mode,
    },
    /// The counter of the parent is used up, or nearly.
    #[error(
        "the sequence counter of this path is near its end ({node}), where ZooKeeper repeats numbers: \
         delete the path when the queue is empty, which restarts the counter"
    )]
    CounterEnd {
        /// The node that shows it.
        node: String,
    },
    /// Two nodes have the same number.
    #[error("{one} and {other} have the same number, so their order is unknown: delete the stale one")]
    Tie {
        /// One of the two.
        one: String,
        /// The other one.
        other: String,
    },
}

/// The reason why the contender at position `own` of a sorted queue can't trust it.
pub(super) fn refusal(sorted: &[Name<'_>], own: usize) -> Option<QueueError> {
    let me = sorted.get(own)?;
    if let Some(other) = sorted.iter().find(|name| name.family != me.family) {
        return Some(QueueError::OtherFamily { node: other.text.to_owned(), family: other.family });
    }
    if let Some(disorder) = disorder(sorted) {
        return Some(disorder);
    }
    let ahead = sorted.iter().take(own);
    ahead
        .filter(|name| !agree(name.mode, me.mode))
        .map(|name| QueueError::OtherKind { node: name.text.to_owned(), theirs: name.mode, ours: me.mode })
        .next()
}

/// The reason why the numbers of a sorted queue say nothing.
pub(super) fn disorder(sorted: &[Name<'_>]) -> Option<QueueError> {
    if let Some(worn) = sorted.iter().find(|name| !(0..SEQUENCE_LIMIT).contains(&name.sequence)) {
        return Some(QueueError::CounterEnd { node: worn.text.to_owned() });
    }
    let tie = sorted.array_windows().find(|[one, other]| is_tie(one, other));
    tie.map(|[one, other]| QueueError::Tie { one: one.text.to_owned(), other: other.text.to_owned() })
}

/// A Curator writer that steps down to reading creates a read node with its own number.
fn is_tie(one: &Name<'_>, other: &Name<'_>) -> bool {
    let stepped_down =
        one.family == Family::CuratorRw && one.mode == Mode::Exclusive && other.mode == Mode::Shared;
    one.sequence == other.sequence && !stepped_down
}

/// Whether a contender of mode `ours` may queue behind one of mode `theirs`. A semaphore admits several contenders at
/// once, so its contenders don't exclude those behind them; and readers don't count as slots.
fn agree(theirs: Mode, ours: Mode) -> bool {
    match (theirs, ours) {
        (Mode::Shared, Mode::Slots(_)) => false,
        _ => theirs.slots() == ours.slots(),
    }
}
