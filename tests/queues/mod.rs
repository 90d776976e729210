//! Who excludes whom, and who runs when: zklocks of every kind, the other version of zklock, Curator, kazoo.
//!
//! [`pairs`] has a row for each two that meet on a path, and tries it in every way. [`stories`] has a row for each course of
//! a queue, and [`schedules`] one for each mixture of kinds that is drawn. Parties are written in these words:
//!
//! | words | party |
//! |---|---|
//! | `zklock --slots 2`, or only `--slots 2` | a zklock with these options |
//! | `zklock -s a c` | the same with two other paths in place of the lock's own |
//! | `~ -s` | the same, which reaches the server by a proxy |
//! | `wait` | `zklock wait` |
//! | `curator mutex`, `kazoo read` | a lock of that library; [`crate::support::curator`] and [`crate::support::kazoo`] list them |
//! | `node NAME` | a node of another client: an ephemeral one with a number unless `persistent`, `numbered` or `container` follows |
//! | `4 of -s` | four of them |

mod neighbours;
mod pairs;
mod party;
mod queue;
mod schedules;
mod slots;
mod stories;

pub(crate) use pairs::try_pairs;
pub(crate) use queue::{Cause, Queue};
pub(crate) use schedules::try_schedules;
pub(crate) use stories::try_stories;

use crate::support::Version;

/// Both programs are the one under test.
pub(crate) const THIS: [Version; 2] = [Version::This, Version::This];

/// The parties of a row.
fn parties(text: &str) -> impl Iterator<Item = &str> {
    text.split(", ").flat_map(|text| match text.split_once(" of ") {
        Some((count, party)) => vec![party; count.parse().expect("a number")],
        None => vec![text],
    })
}
