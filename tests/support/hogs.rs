//! Processes that use up processor time.

use std::path::Path;
use std::time::Duration;

/// Shell commands that spin while this file exists, but not for longer than this, and not when this process is gone.
pub(crate) fn spin(file: &Path, longest: Duration) -> String {
    let (file, own, longest) = (file.display(), std::process::id(), longest.as_secs());
    format!("while [[ -e {file} && -e /proc/{own} ]] && ((SECONDS < {longest})); do :; done")
}

/// Shell commands that start so many processes that [`spin`], as nobody's children, in the session of their shell: the
/// kernel may divide the time between sessions first (autogroup).
pub(crate) fn hogs(count: usize, file: &Path, longest: Duration) -> String {
    let spin = spin(file, longest);
    format!("for ((i = 0; i < {count}; i++)); do (bash -c '{spin}' </dev/null >/dev/null 2>&1 &); done")
}
