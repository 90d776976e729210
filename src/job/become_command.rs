//! The monitor becomes the command, because the surrounding zklock holds every lock.

use nix::sys::prctl;
use nix::unistd::execvpe;

use super::spawn::{Launch, SpawnError};
use crate::process::priority::set_nice;
use crate::process::sys;

/// Becomes the command with these variables added, in the same process group and under the outer zklock's lease.
/// Returns only if that fails.
pub fn become_command(mut launch: Launch, variables: &[(String, String)]) -> SpawnError {
    let inherited = launch.inherited;
    let image = match launch.image(variables) {
        Ok(image) => image,
        Err(error) => return error,
    };
    // An exec keeps the subreaper flag, and the command didn't ask to adopt orphans.
    if !inherited.was_subreaper {
        let _ = prctl::set_child_subreaper(false);
    }
    sys::drop_handlers();
    sys::restore_ignored(inherited.ignores_children);
    if let Some(nice) = inherited.nice {
        set_nice(nice);
    }
    // Signals that have arrived since zklock began are delivered here.
    if let Err(error) = inherited.mask.thread_set_mask() {
        log::debug!("can't restore the signal mask: {error}");
    }
    let Err(error) = execvpe(image.program(), image.arguments(), image.environment());
    launch.explain(&error.into())
}
