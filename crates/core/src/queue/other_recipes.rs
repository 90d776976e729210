//! Lock nodes of recipes that can't share a path with zklock. Pure.
//!
//! Their owners ignore zklock's nodes, and zklock can't queue behind theirs: both would run at the same time. So a name
//! decides, and a path with such a child is refused, whether or not its owner is alive.

use super::name::{Name, is_hex, split_sequence, unprotected};
use super::queue_error::QueueError;

/// Why a path with these children is refused, if one of them shows another recipe.
pub fn refusal(children: &[String]) -> Option<QueueError> {
    among(children).map(|other| QueueError::OtherRecipe(other.to_owned()))
}

/// The first child of the lock path that shows another recipe.
fn among(children: &[String]) -> Option<&str> {
    children.iter().map(String::as_str).find(|child| is_of_one(child))
}

fn is_of_one(child: &str) -> bool {
    // Curator's semaphores keep one node for each holder below `leases`, and queue below `locks`. kazoo's have a UUID.
    let is_semaphore = ["leases", "locks"].contains(&child) || child.len() == 32 && is_hex(child);
    let has_its_stem = |(stem, _)| match unprotected(stem) {
        // Curator's `LeaderLatch`, and the `LeaderElectionSupport` that comes with ZooKeeper.
        "latch-" | "n_" => true,
        stem => is_write_lock(stem) || speaks_of_a_lock(stem),
    };
    is_semaphore || Name::parse(child).is_none() && split_sequence(child).is_some_and(has_its_stem)
}

/// `x-<session>-` of the `WriteLock` that comes with ZooKeeper: the session is decimal from Java and hexadecimal from C.
fn is_write_lock(stem: &str) -> bool {
    let session = stem.strip_prefix("x-").and_then(|rest| rest.strip_suffix('-'));
    let digits = session.map(|session| session.strip_prefix('-').unwrap_or(session));
    digits.is_some_and(|digits| !digits.is_empty() && is_hex(digits))
}

/// Whether the last word before the number is one that recipes use.
fn speaks_of_a_lock(stem: &str) -> bool {
    const WORDS: [&str; 13] = [
        "lock",
        "rlock",
        "wlock",
        "read",
        "write",
        "shared",
        "exclusive",
        "sh",
        "ex",
        "leader",
        "election",
        "mutex",
        "semaphore",
    ];
    let word = stem.trim_end_matches(['-', '_']);
    let word = word.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "9a2c3f60-7a5e-4d5b-8a67-0123456789ab";

    #[test]
    fn each_recipe_is_known_by_its_names() {
        for name in [
            "leases",
            "locks",
            &format!("_c_{UUID}-latch-0000000007"),
            "latch-0000000007",
            "x-72057649634639872-0000000000",
            "x--72057649634639872-0000000003",
            "x-01000a2b3c4d5e6f-0000000003",
            "n_0000000001",
            "9a2c3f607a5e4d5b8a670123456789ab",
            "write-0000000000",
            &format!("{UUID}-lock-0000000002"),
            "ex0000000002",
            "app_Leader_0000000002",
        ] {
            assert_eq!(among(&["job".to_owned(), name.to_owned()]), Some(name));
        }
    }

    #[test]
    fn contenders_and_ordinary_children_belong_to_no_other_recipe() {
        for name in [
            "",
            "lease",
            "config-0000000001",
            "unlock-0000000001",
            "block0000000001",
            "x-0000000001",
            "x-zz-0000000001",
            "x---1234567890",
            "write-1",
            "9a2c3f607a5e4d5b8a670123456789a",
            "9a2c3f607a5e4d5b8a670123456789ag",
            "_c_9a2c3f607a5e4d5b8a670123456789ab-lock-0000000001",
            "9a2c3f607a5e4d5b8a670123456789ab__lock__0000000001",
            "_c_9a2c3f607a5e4d5b8a670123456789ab-lease-0000000001",
        ] {
            assert_eq!(among(&[name.to_owned()]), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_recognised_or_ignored(name in "\\PC{0,60}") {
            prop_assert!(among(std::slice::from_ref(&name)).is_none() || Name::parse(&name).is_none());
        }
    }
}
