//! The worker's name and command line, as shown by `ps`.
//!
//! Programs that end processes by name, such as `pkill -9 zklock`, must find only the monitor: if they killed both
//! processes at once, none would be left to end the command. So the worker has neither zklock's name nor its arguments,
//! which contain the lock path.

use std::env;
use std::ffi::CString;
use std::path::Path;

use nix::sys::prctl;
use nix::unistd::Pid;

use crate::core::planted::{Mistake, planted};
use crate::runtime::sys;

/// The names of workers, at most 15 bytes each. The second is for a zklock whose file is called like a part of the
/// first.
const NAMES: [&str; 2] = ["lease-keeper", "companion"];

/// The name of workers up to version 0.1: the command of one may call a newer zklock.
const OLD_NAME: &str = "zklock-worker";

/// Whether a process with this name is the worker of a zklock.
pub fn is_worker(name: &str) -> bool {
    NAMES.contains(&name) || name == OLD_NAME
}

/// Gives this process, the worker of `monitor`, its own name and command line. A failure is only logged.
pub(super) fn set(monitor: Pid) {
    let own_file = env::args_os().next().unwrap_or_default();
    let own_file = Path::new(&own_file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own_name = prctl::get_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = if planted(Mistake::WorkerNamed) { OLD_NAME } else { name(&[&own_file, &own_name]) };
    let set = CString::new(name)
        .map_err(Into::into)
        .and_then(|name| Ok(prctl::set_name(&name)?))
        .and_then(|()| sys::replace_arguments(|room| title(name, monitor, room).into_bytes()));
    if let Err(error) = set {
        log::debug!("can't change the name of the worker: {error}");
    }
}

/// The first of the names that contains none of `patterns`.
fn name(patterns: &[&str]) -> &'static str {
    let is_found = |name: &&str| patterns.iter().any(|&found| !found.is_empty() && name.contains(found));
    NAMES.into_iter().find(|name| !is_found(name)).unwrap_or(NAMES[0])
}

/// At most `room` bytes: the name, and the monitor's pid if it fits, because a part of it would be another pid.
fn title(name: &str, monitor: Pid, room: usize) -> String {
    let long = format!("{name} of {monitor}");
    if long.len() <= room { long } else { name.chars().take(room).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_contains_none_of_zklock_s_own_names() {
        assert_eq!(name(&["zklock", "zklock"]), "lease-keeper");
        assert_eq!(name(&["", ""]), "lease-keeper");
        for own in ["lease-keeper", "lease", "keeper", "k"] {
            assert_eq!(name(&["zklock", own]), "companion");
            assert_eq!(name(&[own, "zklock"]), "companion");
        }
        assert_eq!(name(&["companion"]), "lease-keeper");
        assert!(NAMES.into_iter().chain([OLD_NAME]).all(|name| name.len() < 16 && is_worker(name)));
        assert!(!is_worker("zklock") && !is_worker(""));
    }

    #[test]
    fn the_title_has_the_whole_pid_or_none() {
        let monitor = Pid::from_raw(4711);
        assert_eq!(title("lease-keeper", monitor, 20), "lease-keeper of 4711");
        assert_eq!(title("lease-keeper", monitor, 19), "lease-keeper");
        assert_eq!(title("lease-keeper", monitor, 5), "lease");
    }
}
