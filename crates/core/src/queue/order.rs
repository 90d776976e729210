//! Decides from the children of a lock path whether a contender holds the lock or which nodes it watches. Pure.
//!
//! Only the number decides the order. Sorting whole names would sort by uuid, and two contenders could each find
//! themselves first.

use std::collections::BTreeSet;

use super::name::{Family, Mode, Name};
use super::other_recipes;
use super::queue_error::{self, refusal};
pub use super::queue_error::{QueueError, SEQUENCE_LIMIT};

/// A contender's next action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The contender holds the lock.
    Hold,
    /// Other contenders are in the way: watch only these nodes.
    Wait {
        /// Names of the nodes to watch, the nearest first: one node, except for the first waiter for a slot.
        watch: Vec<String>,
        /// How many contenders are in the way.
        ahead: usize,
        /// Name of the first node in the queue, which holds the lock.
        holder: String,
    },
    /// The contender's own node isn't in the listing: it was deleted, and the contender holds nothing. It never counts
    /// as first.
    Gone,
    /// The queue can't be trusted to exclude other contenders.
    Refuse(QueueError),
}

/// Decides for the contender whose node is named `own` among `children`, in any order.
pub fn decide(children: &[String], own: &str) -> Decision {
    if let Some(refusal) = other_recipes::refusal(children) {
        return Decision::Refuse(refusal);
    }
    let queue = in_order(children);
    match queue.iter().position(|name| name.text == own) {
        Some(own) => judge(&queue, own),
        None => Decision::Gone,
    }
}

/// Decides as if a contender of this family and mode entered the queue now, as the last.
pub fn decide_as_next(children: &[String], family: Family, mode: Mode) -> Decision {
    if let Some(refusal) = other_recipes::refusal(children) {
        return Decision::Refuse(refusal);
    }
    let mut queue = in_order(children);
    let sequence = queue.last().map_or(0, |last| last.sequence.saturating_add(1));
    queue.push(Name { text: "", family, mode, sequence });
    judge(&queue, queue.len() - 1)
}

/// A contender as the listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry<'a> {
    /// Its node.
    pub name: Name<'a>,
    /// Its position in the queue, from 1.
    pub position: usize,
    /// Whether it holds the lock.
    pub holds: bool,
}

/// All contenders in order, for status displays. Families that don't see each other's nodes have a queue each.
pub fn queue_entries(children: &[String]) -> Vec<QueueEntry<'_>> {
    let (all, mut entries) = (in_order(children), vec![]);
    for family in [Family::Curator, Family::CuratorRw, Family::Kazoo] {
        // Counted on the way, because thousands may queue. A reader waits for fewer contenders than anyone else.
        let (mut ahead_of_readers, mut ahead_of_others) = (0, 0);
        for (index, name) in all.iter().filter(|name| name.family == family).enumerate() {
            let ahead = if name.mode == Mode::Shared { ahead_of_readers } else { ahead_of_others };
            let holds = ahead < slots(name.mode);
            entries.push(QueueEntry { name: name.clone(), position: index + 1, holds });
            ahead_of_readers += usize::from(waits_for(Mode::Shared, name.mode));
            ahead_of_others += usize::from(waits_for(Mode::Exclusive, name.mode));
        }
    }
    entries
}

/// The names of all contenders, as [`queue_entries`] orders them.
pub fn names(children: &[String]) -> Vec<String> {
    queue_entries(children).into_iter().map(|entry| entry.name.text.to_owned()).collect()
}

/// The names of those of these contenders that are still among the children. A writer of Curator's that steps down goes on as
/// a reader with its number, so under another name.
pub fn remaining(children: &[String], contenders: &[String]) -> Vec<String> {
    let identity = |name: &Name<'_>| match name.family {
        Family::CuratorRw => name.sequence.to_string(),
        _ => name.text.to_owned(),
    };
    let contenders = contenders.iter().filter_map(|text| Name::parse(text));
    let contenders: BTreeSet<String> = contenders.map(|name| identity(&name)).collect();
    let left = queue_entries(children).into_iter().map(|entry| entry.name);
    left.filter(|name| contenders.contains(&identity(name))).map(|name| name.text.to_owned()).collect()
}

/// Why the numbers of these nodes don't say in which order they queued, if they don't.
pub fn disorder(children: &[String]) -> Option<QueueError> {
    queue_error::disorder(&in_order(children))
}

/// Whether a contender entered after the one whose node is named `own`.
pub fn anybody_behind(children: &[String], own: &str) -> bool {
    let number = Name::parse(own).map(|own| own.sequence);
    children.iter().filter_map(|child| Name::parse(child)).any(|name| Some(name.sequence) > number)
}

/// The contenders in order. A Curator writer comes before the reader that it stepped down to, which has the same
/// number.
pub(super) fn in_order(children: &[String]) -> Vec<Name<'_>> {
    let mut queue: Vec<Name<'_>> = children.iter().filter_map(|child| Name::parse(child)).collect();
    queue.sort_by_key(|name| (name.sequence, name.mode == Mode::Shared));
    queue
}

fn judge(queue: &[Name<'_>], own: usize) -> Decision {
    if let Some(refusal) = refusal(queue, own) {
        return Decision::Refuse(refusal);
    }
    let Some((me, below)) = queue.get(own).zip(queue.get(..own)) else { return Decision::Gone };
    let (in_the_way, slots) = (in_the_way(me.mode, below), slots(me.mode));
    let ahead = in_the_way.len();
    if ahead < slots {
        return Decision::Hold;
    }
    // The first waiter for a slot can get it from any of the holders. Later waiters watch their predecessor, whose node
    // says when it has got a slot.
    let watched = if ahead == slots { slots } else { 1 };
    let watch = in_the_way.iter().rev().take(watched).map(|&name| name.to_owned()).collect();
    // Report the first holder, not the nearest blocker: a reader may wait for a writer that itself waits for readers.
    let Some(holder) = below.first().map(|first| first.text.to_owned()) else { return Decision::Hold };
    Decision::Wait { watch, ahead, holder }
}

/// The contenders ahead that a contender of this mode waits for.
fn in_the_way<'a>(mode: Mode, below: &[Name<'a>]) -> Vec<&'a str> {
    below.iter().filter(|name| waits_for(mode, name.mode)).map(|name| name.text).collect()
}

/// Whether a contender of this mode waits for one ahead of the other mode. Readers wait only for writers.
fn waits_for(mode: Mode, ahead: Mode) -> bool {
    #[cfg(test)]
    tests::COMPARED.set(tests::COMPARED.get() + 1);
    mode != Mode::Shared || ahead != Mode::Shared
}

fn slots(mode: Mode) -> usize {
    usize::try_from(mode.slots()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::queue::name::prefix;

    thread_local! {
        /// How many pairs of contenders were compared.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    fn node(id: u128, sequence: i32) -> String {
        format!("{}{sequence:010}", prefix(Family::Curator, Mode::Exclusive, Uuid::from_u128(id)))
    }

    fn queue(nodes: &[(u128, i32)]) -> Vec<String> {
        nodes.iter().map(|&(id, sequence)| node(id, sequence)).collect()
    }

    #[test]
    fn the_number_orders_and_not_the_uuid() {
        let children = queue(&[(1, 7), (9, 3)]);
        assert_eq!(decide(&children, &node(9, 3)), Decision::Hold);
        assert_eq!(decide(&children, &node(1, 7)), waits(&[node(9, 3)], 1));
    }

    #[test]
    fn only_the_nearest_is_watched() {
        let children = queue(&[(1, 1), (2, 2), (3, 3)]);
        assert_eq!(decide(&children, &node(3, 3)), waits(&[node(2, 2)], 2));
    }

    #[test]
    fn a_missing_own_node_is_never_first() {
        assert_eq!(decide(&[], &node(1, 1)), Decision::Gone);
        assert_eq!(decide(&queue(&[(2, 2)]), &node(1, 1)), Decision::Gone);
    }

    #[test]
    fn other_children_are_ignored() {
        let mut children = queue(&[(1, 5)]);
        children.extend(["config".to_owned(), "-0000000001".to_owned(), "config-0000000001".to_owned()]);
        assert_eq!(decide(&children, &node(1, 5)), Decision::Hold);
    }

    #[test]
    fn a_counter_is_used_until_a_hundred_thousand_numbers_are_left() {
        for (sequence, is_refused) in [(2_147_383_646, false), (2_147_383_647, true)] {
            let decision = decide(&[node(1, sequence)], &node(1, sequence));
            assert_eq!(matches!(decision, Decision::Refuse(QueueError::CounterEnd { .. })), is_refused);
        }
    }

    #[test]
    fn a_mixed_or_worn_queue_is_refused() {
        let kazoo = "9a2c3f607a5e4d5b8a670123456789ab__lock__0000000009".to_owned();
        let own = node(1, 5);
        let with = |other: String| decide(&[own.clone(), other], &own);
        assert!(matches!(
            with(kazoo),
            Decision::Refuse(QueueError::OtherFamily { family: Family::Kazoo, .. })
        ));
        assert!(matches!(with(node(2, -5)), Decision::Refuse(QueueError::CounterEnd { .. })));
        assert!(matches!(with(node(2, i32::MAX)), Decision::Refuse(QueueError::CounterEnd { .. })));
        assert!(matches!(with(node(2, 5)), Decision::Refuse(QueueError::Tie { .. })));
        assert!(matches!(
            with("slots2-lock-0000000001".to_owned()),
            Decision::Refuse(QueueError::OtherKind { .. })
        ));
    }

    #[test]
    fn only_a_curator_writer_that_steps_down_shares_its_number() {
        let node = |family, mode, id| format!("{}0000000005", prefix(family, mode, Uuid::from_u128(id)));
        let is_tie = |family, one, other| {
            let (one, other) = (node(family, one, 1), node(family, other, 2));
            matches!(decide(&[one.clone(), other], &one), Decision::Refuse(QueueError::Tie { .. }))
        };
        assert!(!is_tie(Family::CuratorRw, Mode::Exclusive, Mode::Shared));
        assert!(is_tie(Family::CuratorRw, Mode::Exclusive, Mode::Exclusive));
        assert!(is_tie(Family::CuratorRw, Mode::Shared, Mode::Shared));
        assert!(is_tie(Family::Kazoo, Mode::Exclusive, Mode::Shared));
    }

    #[test]
    fn a_semaphore_behind_and_a_reader_ahead_are_accepted() {
        let own = node(1, 5);
        assert_eq!(decide(&[own.clone(), "slots2-lock-0000000009".to_owned()], &own), Decision::Hold);
        let reader = "read-lock-0000000004".to_owned();
        assert_eq!(decide(&[own.clone(), reader.clone()], &own), waits(&[reader], 1));
    }

    fn of(mode: Mode, sequence: i32) -> String {
        named(Family::Curator, mode, sequence)
    }

    fn named(family: Family, mode: Mode, sequence: i32) -> String {
        format!("{}{sequence:010}", prefix(family, mode, Uuid::from_u128(sequence.unsigned_abs().into())))
    }

    /// A decision to wait, without the holder's name.
    fn waits(watch: &[String], ahead: usize) -> Decision {
        Decision::Wait { watch: watch.to_vec(), ahead, holder: String::new() }
    }

    fn decide(children: &[String], own: &str) -> Decision {
        anonymous(super::decide(children, own))
    }

    fn anonymous(decision: Decision) -> Decision {
        match decision {
            Decision::Wait { watch, ahead, holder } => {
                assert!(!holder.is_empty());
                waits(&watch, ahead)
            }
            other => other,
        }
    }

    #[test]
    fn readers_run_together_and_wait_for_the_nearest_writer() {
        use Mode::{Exclusive, Shared};
        for family in [Family::Curator, Family::CuratorRw, Family::Kazoo] {
            let modes = [Shared, Shared, Exclusive, Exclusive, Shared, Shared, Exclusive];
            let queue: Vec<String> = (0..).zip(modes).map(|(n, mode)| named(family, mode, n)).collect();
            // The contender that each watches, and how many are in its way.
            let expected = [None, None, Some((1, 2)), Some((2, 3)), Some((3, 2)), Some((3, 2)), Some((5, 6))];
            for (own, expected) in queue.iter().zip(expected) {
                let waiting =
                    expected.map(|(nearest, ahead): (usize, _)| waits(&queue[nearest..=nearest], ahead));
                assert_eq!(decide(&queue, own), waiting.unwrap_or(Decision::Hold), "{own}");
            }
        }
    }

    #[test]
    fn a_semaphore_has_as_many_holders_as_slots_and_its_first_waiter_watches_them() {
        for (slots, holders) in (2..=6).zip(2..) {
            let queue: Vec<String> = (0..9).map(|n| of(Mode::Slots(slots), n)).collect();
            for (place, own) in queue.iter().enumerate() {
                let watched = if place == holders { holders } else { 1 };
                let nearest: Vec<String> = queue[..place].iter().rev().take(watched).cloned().collect();
                let expected = if place < holders { Decision::Hold } else { waits(&nearest, place) };
                assert_eq!(decide(&queue, own), expected, "{own}");
            }
        }
    }

    #[test]
    fn kinds_that_don_t_exclude_each_other_are_refused_in_any_order() {
        use Mode::{Exclusive, Shared, Slots};
        let behind = |theirs, ours| decide(&[of(theirs, 1), of(ours, 2)], &of(ours, 2));
        for (theirs, ours) in [
            (Slots(2), Exclusive),
            (Slots(2), Shared),
            (Slots(2), Slots(3)),
            (Exclusive, Slots(2)),
            (Shared, Slots(2)),
            (Shared, Slots(1)),
        ] {
            let refused = QueueError::OtherKind { node: of(theirs, 1), theirs, ours };
            assert_eq!(behind(theirs, ours), Decision::Refuse(refused), "{ours} behind {theirs}");
        }
        // Exclusive and a single slot are the same.
        assert_eq!(behind(Exclusive, Slots(1)), waits(&[of(Exclusive, 1)], 1));
        assert_eq!(behind(Slots(1), Exclusive), waits(&[of(Slots(1), 1)], 1));
        assert_eq!(behind(Slots(1), Shared), waits(&[of(Slots(1), 1)], 1));
    }

    #[test]
    fn a_curator_writer_that_steps_down_is_no_tie() {
        let writer = format!("{}0000000003", prefix(Family::CuratorRw, Mode::Exclusive, Uuid::from_u128(1)));
        let reader = format!("{}0000000003", prefix(Family::CuratorRw, Mode::Shared, Uuid::from_u128(1)));
        let later = format!("{}0000000004", prefix(Family::CuratorRw, Mode::Shared, Uuid::from_u128(2)));
        let queue = [later.clone(), reader.clone(), writer.clone()];
        assert_eq!(decide(&queue, &writer), Decision::Hold);
        assert_eq!(decide(&queue, &reader), waits(std::slice::from_ref(&writer), 1));
        assert_eq!(decide(&queue, &later), waits(&[writer], 1));
        assert_eq!(decide(&[later.clone(), reader], &later), Decision::Hold);
    }

    #[test]
    fn standings_agree_with_each_contender_s_decision() {
        use Mode::{Exclusive, Shared, Slots};
        let kazoo = "9a2c3f607a5e4d5b8a670123456789ab__lock__0000000001".to_owned();
        for queue in [
            vec![of(Shared, 1), of(Shared, 2), of(Exclusive, 3), of(Shared, 4), of(Exclusive, 5)],
            (1..=5).map(|n| of(Slots(2), n)).collect(),
            vec![of(Exclusive, 1), of(Exclusive, 2)],
        ] {
            for entry in queue_entries(&queue) {
                let decision = super::decide(&queue, entry.name.text);
                assert_eq!(entry.holds, decision == Decision::Hold, "{entry:?}");
                assert_eq!(entry.name.text, queue[entry.position - 1]);
            }
        }
        let others = [of(Exclusive, 7), kazoo.clone(), "config".to_owned()];
        let seen: Vec<_> =
            queue_entries(&others).into_iter().map(|s| (s.name.text, s.position, s.holds)).collect();
        assert_eq!(seen, [(others[0].as_str(), 1, true), (kazoo.as_str(), 1, true)]);
    }

    #[test]
    fn the_work_of_all_entries_grows_with_their_number() {
        let compared = |count: i32| {
            let mode = |n| if n % 3 == 0 { Mode::Exclusive } else { Mode::Shared };
            let queue: Vec<String> = (1..=count).map(|n| of(mode(n), n)).collect();
            let before = COMPARED.get();
            assert_eq!(queue_entries(&queue).len(), queue.len());
            COMPARED.get() - before
        };
        assert_eq!(compared(5_000), 10 * compared(500));
    }

    #[test]
    fn a_look_before_entering_agrees_with_the_decision_after() {
        let look_at = |children: &[String], mode| anonymous(decide_as_next(children, Family::Curator, mode));
        assert_eq!(look_at(&[], Mode::Exclusive), Decision::Hold);
        assert_eq!(look_at(&["config".to_owned()], Mode::Exclusive), Decision::Hold);
        assert_eq!(look_at(&queue(&[(1, 9), (2, 4)]), Mode::Exclusive), waits(&[node(1, 9)], 2));
        assert_eq!(look_at(&[of(Mode::Shared, 4)], Mode::Shared), Decision::Hold);
        assert_eq!(look_at(&[of(Mode::Slots(2), 4)], Mode::Slots(2)), Decision::Hold);
    }

    proptest! {
        /// For every queue, in whatever order the server lists it: one contender holds, and every other one waits for
        /// its predecessor. Releases therefore run through the queue in order and wake one contender each.
        #[test]
        fn one_holds_and_the_rest_form_a_chain(
            numbers in prop::collection::btree_set(0..SEQUENCE_LIMIT, 1..20).prop_map(Vec::from_iter),
            seed: u128,
            noise in prop::collection::vec("[a-z-]{0,20}", 0..5),
        ) {
            let in_order: Vec<String> =
                numbers.iter().map(|&n| node(seed.wrapping_mul(u128::from(n.unsigned_abs()) + 1), n)).collect();
            let mut children = in_order.clone();
            children.sort();
            children.extend(noise);
            for (position, own) in in_order.iter().enumerate() {
                let expected = match position.checked_sub(1) {
                    None => Decision::Hold,
                    Some(before) => waits(&[in_order[before].clone()], position),
                };
                prop_assert_eq!(decide(&children, own), expected);
            }
        }

        /// The contenders of a family, in order, are each judged by those ahead.
        #[test]
        fn entries_count_those_ahead(children in prop::collection::vec(
            "((_c_[0-9a-f]{32}-)?(read-|slots[123]-)?lock-|(_c_[0-9a-f]{32}-)?__(READ|WRIT)__|[0-9a-f]{32}__(r?lock)__)(-00000000|000000000)[0-9]",
            0..12,
        )) {
            let all = in_order(&children);
            let mut expected = vec![];
            for family in [Family::Curator, Family::CuratorRw, Family::Kazoo] {
                let queue: Vec<_> = all.iter().filter(|name| name.family == family).cloned().collect();
                expected.extend(queue.iter().enumerate().map(|(index, name)| QueueEntry {
                    name: name.clone(),
                    position: index + 1,
                    holds: in_the_way(name.mode, &queue[..index]).len() < slots(name.mode),
                }));
            }
            prop_assert_eq!(queue_entries(&children), expected);
        }

        #[test]
        fn no_list_makes_two_hold(children in prop::collection::vec("(_c_[0-9a-f]{32}-)?(read-|slots[12]-)?lock-(-00000000|000000000)[0-9]", 0..8)) {
            let holders = children.iter().filter(|own| {
                Name::parse(own).is_some_and(|name| name.mode == Mode::Exclusive)
                    && decide(&children, own) == Decision::Hold
            });
            let distinct: BTreeSet<_> = holders.collect();
            prop_assert!(distinct.len() <= 1);
        }
    }
}
