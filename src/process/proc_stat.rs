//! Reads `/proc/PID/stat`: see `proc_pid_stat(5)`.

use std::iter;

use anyhow::{Result, ensure};
use nix::unistd::{Pid, getpid};

use super::proc_file;

/// The fields of `/proc/PID/stat` that zklock needs.
#[derive(Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its pid.
    pub pid: i32,
    /// Its name: at most 15 bytes of the program's name.
    pub name: String,
    /// Its parent's pid.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its session.
    pub session: i32,
    /// The process group in the foreground of its controlling terminal, if it has one.
    pub foreground: Option<i32>,
    /// Whether it is stopped.
    pub is_stopped: bool,
    /// Whether its first thread has ended or is about to end.
    pub is_ending: bool,
    /// Its nice value.
    pub nice: i32,
    /// Its scheduling policy, with its flag.
    pub policy: i32,
    /// When it was started, in clock ticks since boot: together with the pid, this distinguishes it from every later
    /// process.
    pub started: u64,
}

/// The process with this pid. `None` if there is none, or the kernel doesn't show it.
pub fn of(pid: Pid) -> Option<ProcessStat> {
    parse(&proc_file::read(format!("/proc/{pid}/stat")).ok()?)
}

/// This process and its ancestors, as far as the kernel shows them.
pub fn lineage(pid: Pid) -> impl Iterator<Item = ProcessStat> {
    iter::successors(of(pid), |process| of(Pid::from_raw(process.parent)))
}

/// Whether this process's group is orphaned: no other process of its session could continue it, so the kernel discards the
/// terminal's stop signals.
pub fn is_orphaned() -> bool {
    let line: Vec<ProcessStat> = lineage(getpid()).collect();
    let Some(own) = line.first() else { return false };
    // Not only the nearest one outside the group: the worker of a surrounding zklock is in a session of its own.
    !line.array_windows().any(|[process, parent]| {
        process.group == own.group && parent.group != own.group && parent.session == own.session
    })
}

/// Whether the process with this pid, which began then, is an ancestor of the process `below`.
///
/// # Errors
/// If `/proc` hides an ancestor.
pub fn is_ancestor(pid: u32, started: Option<u64>, below: Pid) -> Result<bool> {
    let mut next = below.as_raw();
    for process in lineage(below) {
        if process.pid.unsigned_abs() == pid && started.is_none_or(|started| started == process.started) {
            return Ok(true);
        }
        next = process.parent;
    }
    let action = "can't see whether the surrounding command holds the lock";
    ensure!(next == 0, "{action}: /proc hides PID {next}; mount it without hidepid");
    Ok(false)
}

/// The kernel's flag for a thread that has begun to end (`PF_EXITING`): from then on it inherits no orphans.
const EXITING: u64 = 4;

/// Parses `pid (name) state parent …`; the name may contain anything, including closing brackets.
pub fn parse(stat: &str) -> Option<ProcessStat> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let is_dead = matches!(state, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // After the terminal's number.
    let foreground = fields.nth(1)?.parse().ok().filter(|&group| group >= 0);
    let flags: u64 = fields.next()?.parse().ok()?;
    let is_ending = is_dead || flags & EXITING != 0;
    // Fields 19, 22 and 41; the flags were field 9.
    let nice = fields.nth(9)?.parse().ok()?;
    let started = fields.nth(2)?.parse().ok()?;
    let policy = fields.nth(18).and_then(|policy| policy.parse().ok()).unwrap_or_default();
    let (pid, name, is_stopped) = (pid.parse().ok()?, name.to_owned(), state == "T");
    Some(ProcessStat {
        pid,
        name,
        parent,
        group,
        session,
        foreground,
        is_stopped,
        is_ending,
        nice,
        policy,
        started,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_any_character() {
        let process = |name: &str, is_stopped, is_ending| ProcessStat {
            pid: 12,
            name: name.to_owned(),
            parent: 3,
            group: 5,
            session: 6,
            foreground: Some(8),
            is_stopped,
            is_ending,
            nice: 19,
            policy: 41,
            started: 22,
        };
        let stat = |before: &str, flags: u64| {
            let after: Vec<String> = (10..=52).map(|field| field.to_string()).collect();
            parse(&format!("{before} 3 5 6 7 8 {flags} {}", after.join(" ")))
        };
        assert_eq!(stat("12 (a) b) S", 4_194_560), Some(process("a) b", false, false)));
        assert_eq!(stat("12 (sh) T", 4_194_560), Some(process("sh", true, false)));
        assert_eq!(stat("12 (sh) Z", 4_194_560), Some(process("sh", false, true)));
        assert_eq!(stat("12 (sh) R", 4_194_564), Some(process("sh", false, true)));
        assert_eq!(parse("12 (sh) R 3 4 5"), None);
        assert_eq!(parse("nonsense"), None);
    }
}
