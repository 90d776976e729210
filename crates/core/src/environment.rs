//! The environment variables that tell the command about its locks, and zklock about the locks held around it.

use std::ffi::OsStr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::path::{LockPath, NodePath};
use crate::protocol::Node;
use crate::queue::name::Mode;

/// Tells a zklock inside the command which locks are held around it.
pub const HELD: &str = "ZKLOCK_HELD";

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The lock path, including the chroot of the connect string.
    pub path: String,
    /// The lock node, likewise with the chroot.
    pub node: String,
    /// The node's czxid.
    pub fencing_token: i64,
    /// The session that owns the node.
    pub session: i64,
    /// `exclusive`, `shared` or `slots`.
    pub mode: String,
    /// How many contenders may hold the lock at the same time.
    pub slots: u32,
    /// The zklock that holds it: its pid, and when it began. Zero if it is of 1.x.
    #[serde(default)]
    pub pid: u32,
    #[serde(default)]
    pub started: u64,
}

/// A lock as shown in `ZKLOCK_LOCKS`.
#[derive(Debug, Serialize)]
struct ToldLock<'a> {
    path: &'a str,
    node: &'a str,
    mode: &'a str,
    fencing_token: i64,
}

impl HeldLock {
    /// Whether this is the lock with this path under this chroot.
    pub fn is_of(&self, chroot: &str, path: &LockPath) -> bool {
        self.path == full_path(chroot, path)
    }

    /// Whether the lock is still held, by what was read at its node's path. Otherwise the variable is stale: a daemon
    /// inherits it and outlives the lock.
    pub fn is_still_held(&self, node: &Node) -> bool {
        node.czxid == self.fencing_token && node.owner == self.session
    }

    /// The node's path below the chroot of the connect string.
    pub fn node_below(&self, chroot: &str) -> NodePath {
        self.node.strip_prefix(chroot).unwrap_or(&self.node).into()
    }

    /// The mode; `None` if this version doesn't know it.
    pub fn mode(&self) -> Option<Mode> {
        match self.mode.as_str() {
            "exclusive" => Some(Mode::Exclusive),
            "shared" => Some(Mode::Shared),
            "slots" => Some(Mode::Slots(self.slots)),
            _ => None,
        }
    }
}

/// The variables for a command that runs under `locks`, which are in the order the user gave. `outer` are the locks
/// held around zklock itself. The variables for a single lock describe the first one.
pub fn environment(locks: &[HeldLock], outer: &[HeldLock], chroot: &str) -> Result<Vec<(String, String)>> {
    let below = |path: &'_ str| -> String { path.strip_prefix(chroot).unwrap_or(path).to_owned() };
    let paths: Vec<(String, String)> =
        locks.iter().map(|lock| (below(&lock.path), below(&lock.node))).collect();
    let told: Vec<ToldLock<'_>> = locks
        .iter()
        .zip(&paths)
        .map(|(lock, (path, node))| ToldLock {
            path,
            node,
            mode: &lock.mode,
            fencing_token: lock.fencing_token,
        })
        .collect();
    let first = told.first().context("no lock is held")?;
    let around: Vec<&HeldLock> =
        locks.iter().chain(outer.iter().filter(|held| !locks.contains(held))).collect();
    let variables = [
        ("ZKLOCK_PATH", first.path.to_owned()),
        ("ZKLOCK_NODE", first.node.to_owned()),
        ("ZKLOCK_FENCING_TOKEN", first.fencing_token.to_string()),
        ("ZKLOCK_LOCKS", serde_json::to_string(&told)?),
        (HELD, serde_json::to_string(&around)?),
    ];
    Ok(variables.map(|(name, value)| (name.to_owned(), value)).into())
}

/// The locks held around zklock, read from [`HELD`]. A value that can't be parsed counts as no locks.
pub fn held_outside(variable: Option<&OsStr>) -> Vec<HeldLock> {
    variable.and_then(OsStr::to_str).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The full path of a lock, including the chroot.
pub fn full_path(chroot: &str, path: &LockPath) -> String {
    format!("{chroot}{path}")
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use proptest::prelude::*;

    use super::*;

    fn lock(path: &str, mode: Mode) -> HeldLock {
        HeldLock {
            path: path.to_owned(),
            node: format!("{path}/n"),
            fencing_token: 7,
            session: 1,
            mode: mode.word().to_owned(),
            slots: mode.slots(),
            pid: 7,
            started: 70,
        }
    }

    fn value(variables: &[(String, String)], name: &str) -> String {
        variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    #[test]
    fn the_command_sees_paths_as_its_connect_string_does_and_inner_locks_see_all() {
        let (own, outer) = (lock("/app/b", Mode::Exclusive), lock("/app/a", Mode::Slots(3)));
        let variables = environment(from_ref(&own), from_ref(&outer), "/app").unwrap();
        assert_eq!(value(&variables, "ZKLOCK_PATH"), "/b");
        assert_eq!(value(&variables, "ZKLOCK_NODE"), "/b/n");
        assert_eq!(
            value(&variables, "ZKLOCK_LOCKS"),
            r#"[{"path":"/b","node":"/b/n","mode":"exclusive","fencing_token":7}]"#
        );
        let held = held_outside(Some(OsStr::new(&value(&variables, HELD))));
        assert_eq!(held, [own, outer.clone()]);
        assert_eq!(outer.mode(), Some(Mode::Slots(3)));
    }

    proptest! {
        #[test]
        fn any_value_of_the_variable_is_parsed_or_ignored(text in "\\PC{0,200}") {
            let _ = held_outside(Some(OsStr::new(&text)));
        }
    }
}
