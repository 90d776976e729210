//! Finds the processes of a run by the marker in their environment.

use super::wait::try_for;
use super::zklock::MARKER;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::thread;
use std::time::Duration;

/// The processes that inherited `marker`, each as its id and command line. Zombies aren't found, because they no longer
/// have an environment, nor one that loses its memory while it is read: it has no command line any more.
pub fn processes_of(marker: &str) -> Vec<(Pid, String)> {
    let wanted = format!("{MARKER}={marker}");
    let entries = fs::read_dir("/proc").expect("/proc");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            // A process may end before it is read.
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .map(|pid| (Pid::from_raw(pid), command_line(pid)))
        .filter(|(_, name)| !name.is_empty())
        .collect()
}

/// Panics if processes of `marker` are left after `within`, and shows their command lines.
#[track_caller]
pub fn assert_no_processes(marker: &str, within: Duration) {
    let gone = try_for(within, || surely_none(marker).then_some(()));
    assert!(gone.is_some(), "processes left behind: {:#?}", processes_of(marker));
}

/// Kills every process of `marker`, to clean up after a failed test.
pub fn kill_all(marker: &str) {
    // One round is not enough, because a process may start another one just before it is killed.
    try_for(Duration::from_secs(1), || {
        for (pid, _) in processes_of(marker) {
            kill(pid, Signal::SIGKILL).ok();
        }
        surely_none(marker).then_some(())
    });
}

/// Whether no processes of `marker` are left. A single scan is not enough, because a process shows no environment for a
/// moment during exec.
fn surely_none(marker: &str) -> bool {
    (0..3).all(|look| {
        thread::sleep(Duration::from_millis(2 * look));
        processes_of(marker).is_empty()
    })
}

/// The state letter of a process (`R`, `S`, `T`, `Z`), if there is one with this id.
pub fn state(pid: Pid) -> Option<char> {
    state_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The state letter in the text of a `stat` file.
pub fn state_in(stat: &str) -> Option<char> {
    // The state follows the name, which is in parentheses and may contain any character.
    stat.rsplit_once(") ")?.1.chars().next()
}

fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
