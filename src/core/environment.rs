//! What the command is told of its locks, and what zklock is told of the locks that it runs under.

use std::ffi::OsStr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::core::lock::name::Mode;
use crate::core::path::LockPath;

/// The variable by which a zklock inside the command knows which locks are held around it.
pub const HELD: &str = "ZKLOCK_HELD";

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The lock path, the chroot of the connect string included.
    pub path: String,
    /// The lock node, likewise.
    pub node: String,
    /// Its czxid.
    pub fencing_token: i64,
    /// The session that owns it.
    pub session: i64,
    /// `exclusive`, `shared` or `slots`.
    pub mode: String,
    /// How many may hold at once.
    pub slots: u32,
}

/// A lock as `ZKLOCK_LOCKS` tells of it.
#[derive(Debug, Serialize)]
struct ToldLock<'a> {
    path: &'a str,
    node: &'a str,
    mode: &'a str,
    fencing_token: i64,
}

impl HeldLock {
    /// Whether it is the lock with this path below this chroot.
    pub fn is_of(&self, chroot: &str, path: &LockPath) -> bool {
        self.path == full_path(chroot, path)
    }

    /// The mode, if it is one that this version knows.
    pub fn mode(&self) -> Option<Mode> {
        match self.mode.as_str() {
            "exclusive" => Some(Mode::Exclusive),
            "shared" => Some(Mode::Shared),
            "slots" => Some(Mode::Slots(self.slots)),
            _ => None,
        }
    }
}

/// The variables for a command that runs under `locks`, in the user's order. `outer` are the locks held
/// around zklock itself. The single variables speak of the first lock.
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

/// The locks held around us, as the variable says. Whoever wrote nonsense into it is as good as outside.
pub fn held_around_us(variable: Option<&OsStr>) -> Vec<HeldLock> {
    variable.and_then(OsStr::to_str).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The full path of a lock, the chroot included.
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
        let held = held_around_us(Some(OsStr::new(&value(&variables, HELD))));
        assert_eq!(held, [own, outer.clone()]);
        assert_eq!(outer.mode(), Some(Mode::Slots(3)));
    }

    proptest! {
        #[test]
        fn any_text_around_us_is_understood_or_ignored(text in "\\PC{0,200}") {
            let _ = held_around_us(Some(OsStr::new(&text)));
        }
    }
}
