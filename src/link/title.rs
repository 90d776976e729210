//! The worker's name and command line, as shown by `ps`.
//!
//! Programs that end processes by name, such as `pkill -9 zklock`, must find only the monitor: if they killed both
//! processes at once, none would be left to end the command. So the worker has neither zklock's name nor its arguments,
//! which contain the lock path.

use std::ffi::CString;
use std::path::Path;

use nix::sys::prctl;
use nix::unistd::Pid;
use zklock_core::planted::{Mistake, planted};

use crate::process::sys;

/// The names of workers, at most 15 bytes each: the first is the usual one.
const NAMES: [&str; 3] = ["lease-guard", "companion", "second-half"];

/// The name of workers up to version 0.1: the command of one may call a newer zklock.
const OLD_NAME: &str = "zklock-worker";

/// Whether a process with this name is the worker of a zklock.
pub fn is_worker(name: &str) -> bool {
    NAMES.contains(&name) || name == OLD_NAME
}

/// Gives this process, the worker of `monitor`, its own name and command line. A failure is only logged.
pub(super) fn set(monitor: Pid) {
    let arguments: Vec<String> =
        sys::arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let own_name = prctl::get_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = if planted(Mistake::WorkerNamed) { OLD_NAME } else { name(&arguments, &own_name) };
    let set = CString::new(name)
        .map_err(Into::into)
        .and_then(|name| Ok(prctl::set_name(&name)?))
        .and_then(|()| sys::replace_arguments(|room| title(name, monitor, room).into_bytes()));
    if let Err(error) = set {
        log::debug!("can't change the name of the worker: {error}");
    }
}

/// The first of the names that no plausible pattern finds together with the monitor: none of its words is in the
/// `arguments`, and neither the program's file nor `own_name` is a part of it.
fn name(arguments: &[String], own_name: &str) -> &'static str {
    let file = arguments.first().and_then(|program| Path::new(program).file_name()?.to_str());
    let is_in_arguments = |word: &str| arguments.iter().any(|argument| argument.contains(word));
    let is_found = |name: &&str| {
        name.split('-').any(is_in_arguments)
            || [file, Some(own_name)].into_iter().flatten().any(|own| !own.is_empty() && name.contains(own))
    };
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

    fn name_for(line: &str, own_name: &str) -> &'static str {
        name(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), own_name)
    }

    #[test]
    fn no_word_of_the_name_is_among_the_arguments_nor_zklock_s_own_name_in_it() {
        assert_eq!(name_for("/usr/bin/zklock -z zookeeper:2181 /locks/job -- true", "zklock"), "lease-guard");
        assert_eq!(name_for("", ""), "lease-guard");
        assert_eq!(name_for("zklock /locks/lease -- true", "zklock"), "companion");
        assert_eq!(name_for("zklock /a -- ./lifeguard.sh --with companion", "zklock"), "second-half");
        assert_eq!(name_for("zklock /a guard companion half", "zklock"), "lease-guard", "none is free");
        for own in ["lease-guard", "lease", "guard", "ease"] {
            assert_eq!(name_for("zklock /a true", own), "companion");
            assert_eq!(name_for(&format!("./{own} /a true"), "zklock"), "companion");
        }
        assert!(NAMES.into_iter().chain([OLD_NAME]).all(|name| name.len() < 16 && is_worker(name)));
        assert!(!is_worker("zklock") && !is_worker(""));
    }

    #[test]
    fn the_title_has_the_whole_pid_or_none() {
        let monitor = Pid::from_raw(4711);
        assert_eq!(title("lease-guard", monitor, 19), "lease-guard of 4711");
        assert_eq!(title("lease-guard", monitor, 18), "lease-guard");
        assert_eq!(title("lease-guard", monitor, 5), "lease");
    }
}
