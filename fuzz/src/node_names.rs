//! The children of a lock path, as the server lists them: one name in each line.

use std::collections::BTreeSet;
use std::mem::discriminant;

use zklock_core::queue::name::{Family, Mode, Name};
use zklock_core::queue::order::{Decision, anybody_behind, decide, decide_as_next};

use super::shown::assert_harmless;

/// Enough for every rule; deciding for each of them takes the square of it.
const MOST: usize = 40;

/// Names are understood or ignored, and no list lets more run than may run together.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // A server lists no name twice.
    let children: BTreeSet<&str> = text.lines().take(MOST).collect();
    let children: Vec<String> = children.into_iter().map(str::to_owned).collect();
    let names: Vec<Name<'_>> = children.iter().filter_map(|child| Name::parse(child)).collect();
    names.iter().for_each(check_name);
    let decisions: Vec<_> = names.iter().map(|name| (name, decide(&children, name.text))).collect();
    for (name, decision) in &decisions {
        check_decision(&children, name, decision);
    }
    check_holders(
        decisions.iter().filter(|(_, decision)| *decision == Decision::Hold).map(|(name, _)| *name),
    );
    for child in children.iter().filter(|child| Name::parse(child).is_none()) {
        let decision = decide(&children, child);
        assert!(matches!(decision, Decision::Gone | Decision::Refuse(_)), "not a contender: {child:?}");
    }
    for (family, mode) in [(Family::Curator, Mode::Exclusive), (Family::Kazoo, Mode::Shared)] {
        match decide_as_next(&children, family, mode) {
            Decision::Hold => assert!(names.iter().all(|name| name.mode == mode && mode == Mode::Shared)),
            Decision::Wait { holder, .. } => assert!(children.contains(&holder)),
            Decision::Refuse(refusal) => assert_harmless(&refusal.to_string()),
            Decision::Gone => panic!("whoever only looks has no node"),
        }
    }
}

fn check_name(name: &Name<'_>) {
    assert_harmless(name.text);
    assert!(name.text.is_ascii(), "shown as it is: {name:?}");
    assert!(name.text.ends_with(&format!("{:010}", name.sequence)), "as Java prints a number: {name:?}");
    assert!(name.mode.slots() >= 1, "{name:?}");
    assert!(name.is_from(&name.text[..name.text.len() - 10]));
}

fn check_decision(children: &[String], name: &Name<'_>, decision: &Decision) {
    let backwards: Vec<String> = children.iter().rev().cloned().collect();
    let again = decide(&backwards, name.text);
    assert_eq!(discriminant(&again), discriminant(decision), "whatever the order of the list");
    match decision {
        Decision::Gone => panic!("{name:?} is in the list"),
        Decision::Refuse(refusal) => assert_harmless(&refusal.to_string()),
        Decision::Hold => assert!(0 <= name.sequence, "{name:?}"),
        Decision::Wait { watch, ahead, holder } => {
            assert_eq!(&again, decision, "whatever the order of the list");
            assert!(!watch.is_empty() && watch.len() <= *ahead, "{decision:?}");
            for other in watch.iter().chain([holder]) {
                let other =
                    children.iter().find(|child| *child == other).and_then(|child| Name::parse(child));
                let other = other.expect("a contender of the list");
                assert!(other.sequence <= name.sequence && other.text != name.text, "{decision:?}");
                assert!(anybody_behind(children, other.text) || other.sequence == name.sequence);
            }
        }
    }
}

/// Readers together, or no more than there are slots.
fn check_holders<'a>(holders: impl Iterator<Item = &'a Name<'a>>) {
    let modes: Vec<Mode> = holders.map(|name| name.mode).collect();
    let readers = modes.iter().filter(|mode| **mode == Mode::Shared).count();
    let slots = modes.iter().filter(|mode| **mode != Mode::Shared).map(|mode| mode.slots()).min();
    let slots = slots.map(|slots| usize::try_from(slots).unwrap_or(usize::MAX));
    assert!(slots.is_none() || readers == 0, "{modes:?}");
    assert!(slots.is_none_or(|slots| modes.len() <= slots), "{modes:?}");
}
