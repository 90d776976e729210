//! The worker's name and command line, as shown by `ps`.
//!
//! Programs that end processes by name, such as `pkill -9 zklock`, must find only the monitor: if they killed both
//! processes at once, none would be left to end the command. So the worker has neither zklock's name nor its arguments,
//! which contain the lock path.

use std::ffi::CString;

use nix::sys::prctl;
use nix::unistd::Pid;

use crate::process::sys;

/// The name of workers, at most 15 bytes. Those of 1.0 and 1.1 have it, too.
const NAME: &str = "lease-guard";

/// Whether a process with this name is the worker of a zklock.
pub fn is_worker(name: &str) -> bool {
    name == NAME
}

/// Gives this process, the worker of `monitor`, its own name and command line. A failure is only logged.
pub(super) fn set(monitor: Pid) {
    let set = CString::new(NAME)
        .map_err(Into::into)
        .and_then(|name| Ok(prctl::set_name(&name)?))
        .and_then(|()| sys::replace_arguments(|room| title(NAME, monitor, room).into_bytes()));
    if let Err(error) = set {
        log::debug!("can't change the name of the worker: {error}");
    }
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
    fn the_title_has_the_whole_pid_or_none() {
        let monitor = Pid::from_raw(4711);
        assert_eq!(title("lease-guard", monitor, 19), "lease-guard of 4711");
        assert_eq!(title("lease-guard", monitor, 18), "lease-guard");
        assert_eq!(title("lease-guard", monitor, 5), "lease");
    }

    /// Any other process that is called so would get its KILL later than the rest.
    #[test]
    fn a_worker_is_known_by_one_name_which_the_kernel_shows_as_a_whole() {
        assert!(NAME.len() < 16 && is_worker(NAME));
        assert!(!["zklock", "", "companion", "second-half", "zklock-worker"].into_iter().any(is_worker));
    }
}
