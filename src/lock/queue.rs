//! The queue, decided: the children of a lock path in, "hold" or "watch this one" out. Pure.
//!
//! Order is by the number alone. Sorting whole names would sort by uuid, and two contenders would each
//! find themselves first.

use thiserror::Error;

use super::name::{Family, Mode, Name};

/// Numbers this close to the end of the counter are refused. At the end a server gives the same number
/// twice, or negative ones, and order is lost; a queue that is refused while thousands of numbers are left
/// is never in that state.
pub const SEQUENCE_LIMIT: i32 = i32::MAX - 100_000;

/// What a contender does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The lock is ours.
    Hold,
    /// Somebody is ahead: watch this node and nothing else.
    Wait {
        /// Name of the nearest node that keeps us waiting.
        predecessor: String,
        /// How many contenders are ahead of us, the predecessor included.
        ahead: usize,
    },
    /// Our own node isn't in the list. It was deleted, and we hold nothing: never "first".
    Gone,
    /// The queue can't be trusted to exclude anybody.
    Refuse(Refusal),
}

/// Why a queue is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A node of another naming scheme is queued here; its owner would not see ours.
    #[error(
        "{node} is queued here and follows the naming of {family}, whose clients don't see ours: \
         use another path, or wait until it is gone"
    )]
    OtherFamily {
        /// The other's node.
        node: String,
        /// Its naming scheme.
        family: Family,
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
         when the queue is empty delete the path, which starts the counter anew"
    )]
    CounterEnd {
        /// The node that shows it.
        node: String,
    },
    /// Two nodes have one number.
    #[error(
        "{one} and {other} have the same number, so that nobody can tell who is first: delete the stale one"
    )]
    Tie {
        /// One of the two.
        one: String,
        /// The other.
        other: String,
    },
}

/// Decides for the exclusive contender whose node is named `own` among `children`, in any order.
pub fn decide(children: &[String], own: &str) -> Decision {
    let mut queue: Vec<Name<'_>> = children.iter().filter_map(|child| Name::parse(child)).collect();
    let Some(me) = queue.iter().find(|name| name.text == own).cloned() else {
        return Decision::Gone;
    };
    queue.sort_by_key(|name| name.sequence);

    if let Some(refusal) = refusal(&queue, &me) {
        return Decision::Refuse(refusal);
    }
    let ahead = queue.iter().take_while(|name| name.sequence < me.sequence).count();
    match ahead.checked_sub(1).and_then(|nearest| queue.get(nearest)) {
        None => Decision::Hold,
        Some(predecessor) => Decision::Wait { predecessor: predecessor.text.to_owned(), ahead },
    }
}

/// The first contender of a queue that nobody of ours has joined, or `None` if the lock is free.
pub fn holder(children: &[String]) -> Option<&str> {
    let queue = children.iter().filter_map(|child| Name::parse(child));
    queue.min_by_key(|name| name.sequence).map(|name| name.text)
}

fn refusal(sorted: &[Name<'_>], me: &Name<'_>) -> Option<Refusal> {
    if let Some(stranger) = sorted.iter().find(|name| name.family != me.family) {
        return Some(Refusal::OtherFamily { node: stranger.text.to_owned(), family: stranger.family });
    }
    if let Some(worn) = sorted.iter().find(|name| !(0..SEQUENCE_LIMIT).contains(&name.sequence)) {
        return Some(Refusal::CounterEnd { node: worn.text.to_owned() });
    }
    if let Some([one, other]) = sorted.array_windows().find(|[one, other]| one.sequence == other.sequence) {
        return Some(Refusal::Tie { one: one.text.to_owned(), other: other.text.to_owned() });
    }
    // A semaphore admits several at once, so that being behind one of its contenders proves nothing to us.
    let ahead = sorted.iter().take_while(|name| name.sequence < me.sequence);
    ahead
        .filter(|name| matches!(name.mode, Mode::Slots(slots) if slots != 1))
        .map(|name| Refusal::OtherKind { node: name.text.to_owned(), theirs: name.mode, ours: me.mode })
        .next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::lock::name::exclusive_prefix;

    fn node(id: u128, sequence: i32) -> String {
        format!("{}{sequence:010}", exclusive_prefix(Uuid::from_u128(id)))
    }

    fn queue(nodes: &[(u128, i32)]) -> Vec<String> {
        nodes.iter().map(|&(id, sequence)| node(id, sequence)).collect()
    }

    #[test]
    fn the_number_decides_and_not_the_uuid() {
        let children = queue(&[(1, 7), (9, 3)]);
        assert_eq!(decide(&children, &node(9, 3)), Decision::Hold);
        assert_eq!(decide(&children, &node(1, 7)), Decision::Wait { predecessor: node(9, 3), ahead: 1 });
    }

    #[test]
    fn only_the_nearest_is_watched() {
        let children = queue(&[(1, 1), (2, 2), (3, 3)]);
        assert_eq!(decide(&children, &node(3, 3)), Decision::Wait { predecessor: node(2, 2), ahead: 2 });
    }

    #[test]
    fn a_missing_own_node_is_never_first() {
        assert_eq!(decide(&[], &node(1, 1)), Decision::Gone);
        assert_eq!(decide(&queue(&[(2, 2)]), &node(1, 1)), Decision::Gone);
    }

    #[test]
    fn strangers_are_ignored() {
        let mut children = queue(&[(1, 5)]);
        children.extend(["leases".to_owned(), "-0000000001".to_owned(), "config-0000000001".to_owned()]);
        assert_eq!(decide(&children, &node(1, 5)), Decision::Hold);
    }

    #[test]
    fn a_mixed_or_worn_queue_is_refused() {
        let kazoo = "9a2c3f607a5e4d5b8a670123456789ab__lock__0000000009".to_owned();
        let own = node(1, 5);
        let with = |other: String| decide(&[own.clone(), other], &own);
        assert!(matches!(with(kazoo), Decision::Refuse(Refusal::OtherFamily { family: Family::Kazoo, .. })));
        assert!(matches!(with(node(2, -5)), Decision::Refuse(Refusal::CounterEnd { .. })));
        assert!(matches!(with(node(2, i32::MAX)), Decision::Refuse(Refusal::CounterEnd { .. })));
        assert!(matches!(with(node(2, 5)), Decision::Refuse(Refusal::Tie { .. })));
        assert!(matches!(
            with("slots2-lock-0000000001".to_owned()),
            Decision::Refuse(Refusal::OtherKind { .. })
        ));
    }

    #[test]
    fn a_semaphore_behind_us_and_a_reader_ahead_are_no_trouble() {
        let own = node(1, 5);
        assert_eq!(decide(&[own.clone(), "slots2-lock-0000000009".to_owned()], &own), Decision::Hold);
        let reader = "read-lock-0000000004".to_owned();
        assert_eq!(
            decide(&[own.clone(), reader.clone()], &own),
            Decision::Wait { predecessor: reader, ahead: 1 }
        );
    }

    #[test]
    fn the_holder_is_the_lowest_contender() {
        assert_eq!(holder(&[]), None);
        assert_eq!(holder(&["leases".to_owned()]), None);
        assert_eq!(holder(&queue(&[(1, 9), (2, 4)])), Some(node(2, 4).as_str()));
    }

    proptest! {
        /// For every queue, in whatever order the server lists it: one holder; everyone else waits for the
        /// one just ahead; so that releases run through the queue in order and wake one contender each.
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
                    Some(before) => Decision::Wait { predecessor: in_order[before].clone(), ahead: position },
                };
                prop_assert_eq!(decide(&children, own), expected);
            }
        }

        #[test]
        fn no_list_makes_two_hold(children in prop::collection::vec("(_c_[0-9a-f]{32}-)?(read-|slots[12]-)?lock-(-00000000|000000000)[0-9]", 0..8)) {
            let holders = children.iter().filter(|own| {
                Name::parse(own).is_some_and(|name| name.mode == Mode::Exclusive)
                    && decide(&children, own) == Decision::Hold
            });
            let distinct: std::collections::BTreeSet<_> = holders.collect();
            prop_assert!(distinct.len() <= 1);
        }
    }
}
