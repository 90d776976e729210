//! zklock becomes the command, because the surrounding zklock holds every lock.

use nix::unistd::execvpe;

use super::spawn::{Launch, SpawnError};
use crate::process::priority::set_nice;
use crate::process::sys;

/// Becomes the command with these variables added, under the outer zklock's lease. Returns only if that fails.
pub fn become_command(mut launch: Launch, variables: &[(String, String)]) -> SpawnError {
    let nice = launch.inherited.nice;
    let image = match launch.image(variables) {
        Ok(image) => image,
        Err(error) => return error,
    };
    // SIGCHLD is still as it was.
    sys::restore_ignored(false);
    if let Some(nice) = nice {
        set_nice(nice);
    }
    let Err(error) = execvpe(image.program(), image.arguments(), image.environment());
    launch.explain(&error.into())
}
