//! Namespaces for the program under test, on systems that allow them.

use super::skip::skip;
use nix::unistd::geteuid;
use std::process::Command;

/// The words to put before a command to run it in new namespaces. `kinds` is, for example, `--mount` or
/// `--pid --fork --mount-proc`.
pub fn unshare(kinds: &str) -> String {
    // A user who isn't root becomes root in a new user namespace, which gives the privileges to create the others.
    let user = if geteuid().is_root() { "" } else { "--user --map-root-user " };
    format!("unshare {user}{kinds}")
}

/// Whether `script` succeeds in new namespaces of these kinds. If it doesn't, as in a chroot or a container without
/// privileges, the calling test is reported as skipped.
pub fn has_namespaces(kinds: &str, script: &str) -> bool {
    let words = unshare(kinds);
    let probe = Command::new("sh").args(["-c", &format!("{words} sh -c '{script}'")]).output();
    let is_possible = probe.is_ok_and(|output| output.status.success());
    if !is_possible {
        skip(&format!("'{words}' and '{script}' aren't possible here"));
    }
    is_possible
}
