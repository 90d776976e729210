//! What others can see of this process's memory.

use nix::sys::prctl;

/// From here on there are secrets in it: no core dump is written, no debugger of the same user can attach, and
/// `/proc/PID/environ` and `/proc/PID/mem` are root's. It ends with an exec: the command is as it would be
/// without zklock.
pub fn hide() {
    if let Err(error) = prctl::set_dumpable(false) {
        log::debug!("can't keep the memory out of core dumps: {error}");
    }
}
