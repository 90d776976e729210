//! zklock as a user who isn't root and has no other process.

use super::skip::skip;
use super::zklock::{Zklock, new_marker, zklock_binary};
use nix::unistd::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// The user's number. `setpriv` needs no entry in `/etc/passwd`.
const USER: u32 = 61_437;

/// A copy of zklock that the user may run: the project may be below a directory that the user may not enter.
pub struct OtherUser(TempDir);

impl OtherUser {
    /// `None` if this test can't become another user.
    pub fn new() -> Option<Self> {
        if !geteuid().is_root() {
            skip("only root can become another user");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        fs::copy(zklock_binary(), dir.path().join("zklock")).expect("a copy");
        for path in [dir.path(), &dir.path().join("zklock")] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a mode");
        }
        Some(Self(dir))
    }

    /// A directory that the user can enter and not write to.
    pub fn dir(&self) -> &Path {
        self.0.path()
    }

    /// zklock of this user, started by `words` such as `prlimit --nproc=3`.
    pub fn zklock(&self, hosts: &str, words: &[&str]) -> Zklock {
        let setpriv = Zklock::bare(&new_marker()).program(Path::new("setpriv"));
        let zklock = setpriv.arg(format!("--reuid={USER}")).arg("--clear-groups").args(words);
        zklock.arg(self.dir().join("zklock")).args(["-z", hosts]).env("HOME", "/").dir(self.dir())
    }
}
