//! When a queue can't be trusted to exclude anybody. Pure.

use thiserror::Error;

use super::name::{Family, Mode, Name};
use super::neighbour::Recipe;
use crate::core::words::printable;

/// Numbers this close to the end of the counter are refused. At the end a server gives the same number
/// twice, or negative ones, and order is lost; a queue that is refused while thousands of numbers are left
/// is never in that state.
pub const SEQUENCE_LIMIT: i32 = i32::MAX - 100_000;

/// Why a queue is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A node of another naming scheme is queued here; its owner would not see ours.
    #[error(
        "{node} is queued here and follows the naming of {family}, whose clients don't see zklock's nodes: \
         --naming {family} queues with it, or use another path"
    )]
    OtherFamily {
        /// The other's node.
        node: String,
        /// Its naming scheme.
        family: Family,
    },
    /// A node of a recipe that zklock doesn't speak; its owner would run at the same time.
    #[error("{} belongs to {recipe}, which would run beside zklock: {}", printable(node), recipe.remedy())]
    OtherRecipe {
        /// The other's node, below the lock path.
        node: String,
        /// Its recipe.
        recipe: Recipe,
    },
    /// A contender ahead means another number of holders by this path.
    #[error("{node} is queued ahead for {theirs}, and this is {ours}: all contenders of a path must agree")]
    OtherKind {
        /// The other's node.
        node: String,
        /// What it asks for.
        theirs: Mode,
        /// What we ask for.
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
    /// Two nodes have one number.
    #[error("{one} and {other} have the same number, so their order is unknown: delete the stale one")]
    Tie {
        /// One of the two.
        one: String,
        /// The other.
        other: String,
    },
}

/// What is wrong with a queue, sorted, for the contender at position `own`.
pub(super) fn refusal(sorted: &[Name<'_>], own: usize) -> Option<Refusal> {
    let me = sorted.get(own)?;
    if let Some(stranger) = sorted.iter().find(|name| name.family != me.family) {
        return Some(Refusal::OtherFamily { node: stranger.text.to_owned(), family: stranger.family });
    }
    if let Some(worn) = sorted.iter().find(|name| !(0..SEQUENCE_LIMIT).contains(&name.sequence)) {
        return Some(Refusal::CounterEnd { node: worn.text.to_owned() });
    }
    if let Some([one, other]) = sorted.array_windows().find(|[one, other]| is_tie(one, other)) {
        return Some(Refusal::Tie { one: one.text.to_owned(), other: other.text.to_owned() });
    }
    let ahead = sorted.iter().take(own);
    ahead
        .filter(|name| !agree(name.mode, me.mode))
        .map(|name| Refusal::OtherKind { node: name.text.to_owned(), theirs: name.mode, ours: me.mode })
        .next()
}

/// A writer of Curator's that steps down to reading makes a read node with its own number.
fn is_tie(one: &Name<'_>, other: &Name<'_>) -> bool {
    let stepped_down =
        one.family == Family::CuratorRw && one.mode == Mode::Exclusive && other.mode == Mode::Shared;
    one.sequence == other.sequence && !stepped_down
}

/// Whether a contender of mode `ours` may stand behind one of mode `theirs`. A semaphore admits several at
/// once, so that being behind one of its contenders proves nothing to others; and readers are no slots.
fn agree(theirs: Mode, ours: Mode) -> bool {
    match (theirs, ours) {
        (Mode::Shared, Mode::Slots(_)) => false,
        (Mode::Shared, _) | (_, Mode::Shared) => theirs.slots() == 1,
        _ => theirs.slots() == ours.slots(),
    }
}
