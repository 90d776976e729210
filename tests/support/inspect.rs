//! What the kernel tells of a process that carries no marker, such as the guard.

use super::processes::state;
use super::wait::{SOON, wait_for, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getsid};
use std::cell::RefCell;
use std::fs;

/// A line of `/proc/PID/status` without its name; nothing once the process is reaped.
pub(crate) fn status_of(pid: Pid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

/// Whether the process exists and is not just waiting to be reaped.
pub(crate) fn is_alive(pid: Pid) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// Whether the process is stopped, as by SIGSTOP or Ctrl-Z.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    state(pid) == Some('T')
}

/// The children of `parent`, zombies included, each with its arguments.
pub(crate) fn children_of(parent: Pid) -> Vec<(Pid, String)> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|pid| status_of(*pid, "PPid") == Some(parent.to_string()))
        .map(|pid| {
            let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&bytes).replace('\0', " "))
        })
        .collect()
}

/// The guard of a zklock, once it is in a session of its own and listens.
#[track_caller]
pub(crate) fn guard_of(zklock: Pid) -> Pid {
    wait_for("the guard", SOON, || {
        let children = children_of(zklock);
        let (guard, _) = children.into_iter().find(|(_, arguments)| arguments.starts_with("zklock-guard"))?;
        (getsid(Some(guard)) == Ok(guard)).then_some(guard)
    })
}

/// What a test froze. A guard carries no marker: were it left frozen by a test that fails, nobody would find it.
struct Frozen(Vec<Pid>);

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            kill(*pid, Signal::SIGCONT).ok();
        }
    }
}

thread_local! {
    static FROZEN: RefCell<Frozen> = const { RefCell::new(Frozen(Vec::new())) };
}

/// Stops a process (SIGSTOP), and returns when it stands still. It goes on at the end of the test, if not before.
#[track_caller]
pub(crate) fn freeze(pid: Pid) {
    kill(pid, Signal::SIGSTOP).expect("a process to freeze");
    FROZEN.with_borrow_mut(|frozen| frozen.0.push(pid));
    wait_until("it to stand still", SOON, || is_stopped(pid));
}

/// Lets a frozen process go on.
#[track_caller]
pub(crate) fn thaw(pid: Pid) {
    kill(pid, Signal::SIGCONT).expect("a process to thaw");
}
