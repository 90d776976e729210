//! Hides this process's memory from other processes.

use nix::sys::prctl;

/// Hides the memory because it contains secrets from here on: no core dump is written, no debugger of the same user can
/// attach, and only root can read `/proc/PID/environ` and `/proc/PID/mem`. An exec ends this: the command isn't
/// affected.
pub fn hide() {
    if let Err(error) = prctl::set_dumpable(false) {
        log::debug!("can't keep the memory out of core dumps: {error}");
    }
}
