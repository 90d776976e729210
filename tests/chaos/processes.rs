//! Processes as `/proc` tells of them: who belongs to a zklock, and who is left.

use crate::support::{kill_all, processes_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;

/// The guard and the job of a zklock, as far as there are any.
pub(crate) fn children(zklock: Pid) -> (Option<Pid>, Option<Pid>) {
    let (guards, jobs): (Vec<_>, Vec<_>) =
        all().filter(|pid| parent(*pid) == Some(zklock)).partition(|pid| is_guard(*pid));
    (guards.first().copied(), jobs.first().copied())
}

/// Everybody who carries the marker, and every guard, which carries nothing: it is known by its executable.
pub(crate) fn left(marker: &str, program: &Path) -> Vec<String> {
    let jobs = processes_of(marker).into_iter().map(|(pid, command)| format!("{pid} {command}"));
    let guards = guards_of(program).map(|pid| format!("{pid} guard"));
    jobs.chain(guards).collect()
}

/// Ends everybody who is left.
pub(crate) fn kill_left(marker: &str, program: &Path) {
    for pid in guards_of(program) {
        kill(pid, Signal::SIGKILL).ok();
    }
    kill_all(marker);
}

fn guards_of(program: &Path) -> impl Iterator<Item = Pid> {
    all().filter(move |pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program))
}

fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Pid::from_raw)
}

fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it is in parentheses and may hold anything.
    let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?;
    Some(Pid::from_raw(parent.parse().ok()?))
}

fn is_guard(pid: Pid) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"zklock-guard"))
}
