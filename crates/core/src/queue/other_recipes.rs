//! Lock nodes of recipes that can't share a path with zklock. Pure.
//!
//! Their owners ignore zklock's nodes, and zklock can't queue behind theirs: both would run at the same time. A name
//! alone proves nothing, because any child may be called `leases`, or have 32 hexadecimal digits for a name. Only an
//! ephemeral node counts, which shows that its owner is alive.

use std::fmt;

use serde::Serialize;

use super::name::{Family, Name, is_hex, split_sequence, unprotected};

/// The child below which Curator's semaphores keep one node for each holder.
pub const LEASES: &str = "leases";

/// The child below which they queue before they take a lease. Curator removes it when it is empty.
pub const LOCKS: &str = "locks";

/// A recipe whose clients would run beside zklock. Scripts read the serialized name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`.
    CuratorSemaphore,
    /// Curator's `LeaderLatch`.
    CuratorLatch,
    /// `WriteLock`, which comes with ZooKeeper.
    #[serde(rename = "zookeeper-write-lock")]
    WriteLock,
    /// `LeaderElectionSupport`, which comes with ZooKeeper.
    #[serde(rename = "zookeeper-election")]
    LeaderElection,
    /// kazoo's `Semaphore`.
    KazooSemaphore,
    /// A lock-like name in no known pattern.
    Unknown,
}

impl Recipe {
    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::CuratorSemaphore => {
                "use another path, or Curator's InterProcessMutex in that program; --slots is between zklocks only"
            }
            Self::CuratorLatch => "use another path, or Curator's LeaderSelector in that program",
            Self::WriteLock | Self::LeaderElection => {
                "use another path, or Curator's InterProcessMutex in that program"
            }
            Self::KazooSemaphore => {
                "use another path, or kazoo's Lock in that program and --naming kazoo here; --slots is between \
                 zklocks only"
            }
            Self::Unknown => "use another path, or wait until the node is gone",
        }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CuratorSemaphore => "Curator's InterProcessSemaphoreV2",
            Self::CuratorLatch => "Curator's LeaderLatch",
            Self::WriteLock => "ZooKeeper's WriteLock",
            Self::LeaderElection => "ZooKeeper's LeaderElectionSupport",
            Self::KazooSemaphore => "kazoo's Semaphore",
            Self::Unknown => "an unknown lock recipe",
        })
    }
}

/// The recipe that a child of the lock path belongs to by its name, if its node is ephemeral; `None` for contenders and
/// ordinary children.
pub fn of_child(name: &str) -> Option<Recipe> {
    if name.len() == 32 && is_hex(name) {
        return Some(Recipe::KazooSemaphore);
    }
    if Name::parse(name).is_some() {
        return None;
    }
    let (stem, _) = split_sequence(name)?;
    match unprotected(stem) {
        "latch-" => Some(Recipe::CuratorLatch),
        "n_" => Some(Recipe::LeaderElection),
        stem if is_write_lock(stem) => Some(Recipe::WriteLock),
        stem => speaks_of_a_lock(stem).then_some(Recipe::Unknown),
    }
}

/// The recipe that a child of one of the [`containers`] belongs to by its name, if its node is ephemeral.
pub fn of_grandchild(container: &str, name: &str) -> Option<Recipe> {
    let is_semaphore = match container {
        LEASES => split_sequence(name).is_some_and(|(stem, _)| unprotected(stem) == "lease-"),
        LOCKS => Name::parse(name).is_some_and(|name| name.family == Family::Curator),
        _ => false,
    };
    is_semaphore.then_some(Recipe::CuratorSemaphore)
}

/// What may be held in a container that can't be listed, for a message.
pub const IN_CONTAINERS: &str = "a semaphore of Curator's";

/// Why zklock lists a container, for another.
pub const SEE_CONTAINERS: &str = "see whether a semaphore of Curator's is held here";

/// The children of the lock path in which a semaphore's nodes may be, the most telling first.
///
/// [`LOCKS`] alone doesn't count: `/app/locks` may be a lock, and a semaphore with a holder has [`LEASES`].
pub fn containers(children: &[String]) -> Vec<&'static str> {
    let has = |name: &str| children.iter().any(|child| child == name);
    match (has(LEASES), has(LOCKS)) {
        (true, true) => vec![LEASES, LOCKS],
        (true, false) => vec![LEASES],
        _ => vec![],
    }
}

/// `x-<session>-`, in decimal from Java and in hexadecimal from C.
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
        for (name, recipe) in [
            (format!("_c_{UUID}-latch-0000000007"), Recipe::CuratorLatch),
            ("latch-0000000007".to_owned(), Recipe::CuratorLatch),
            ("x-72057649634639872-0000000000".to_owned(), Recipe::WriteLock),
            ("x--72057649634639872-0000000003".to_owned(), Recipe::WriteLock),
            ("x-01000a2b3c4d5e6f-0000000003".to_owned(), Recipe::WriteLock),
            ("n_0000000001".to_owned(), Recipe::LeaderElection),
            ("9a2c3f607a5e4d5b8a670123456789ab".to_owned(), Recipe::KazooSemaphore),
            ("write-0000000000".to_owned(), Recipe::Unknown),
            (format!("{UUID}-lock-0000000002"), Recipe::Unknown),
            ("ex0000000002".to_owned(), Recipe::Unknown),
            ("app_Leader_0000000002".to_owned(), Recipe::Unknown),
        ] {
            assert_eq!(of_child(&name), Some(recipe), "{name}");
        }
    }

    #[test]
    fn scripts_read_a_recipe_in_one_word() {
        use Recipe::*;
        let all = [CuratorSemaphore, CuratorLatch, WriteLock, LeaderElection, KazooSemaphore, Unknown];
        let words = [
            "curator-semaphore",
            "curator-latch",
            "zookeeper-write-lock",
            "zookeeper-election",
            "kazoo-semaphore",
            "unknown",
        ];
        assert_eq!(serde_json::to_value(all).unwrap(), serde_json::json!(words));
    }

    #[test]
    fn contenders_and_ordinary_children_belong_to_no_other_recipe() {
        for name in [
            "",
            "leases",
            "locks",
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
            assert_eq!(of_child(name), None, "{name}");
        }
    }

    #[test]
    fn a_semaphore_is_looked_for_where_there_are_leases() {
        let of = |names: &[&str]| containers(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["job", "leases"]), [LEASES]);
        assert_eq!(of(&["locks", "leases"]), [LEASES, LOCKS]);
        assert!(of(&["locks"]).is_empty(), "/app/locks may be a lock, and /app another");
        let (lease, lock) = (format!("_c_{UUID}-lease-0000000001"), format!("_c_{UUID}-lock-0000000001"));
        let semaphore = Some(Recipe::CuratorSemaphore);
        assert_eq!((of_grandchild(LEASES, &lease), of_grandchild(LOCKS, &lock)), (semaphore, semaphore));
        assert_eq!((of_grandchild(LEASES, &lock), of_grandchild(LOCKS, &lease)), (None, None));
        assert_eq!((of_grandchild(LEASES, "job"), of_grandchild("other", &lease)), (None, None));
    }

    proptest! {
        #[test]
        fn any_name_is_recognised_or_ignored(name in "\\PC{0,60}") {
            prop_assert!(of_child(&name).is_none() || Name::parse(&name).is_none());
        }
    }
}
