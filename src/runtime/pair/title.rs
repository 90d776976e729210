//! The worker's command line, as shown by `ps`. A fork keeps its parent's command line, so signalling all processes
//! with the command's name in their command line would hit both.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process;

use nix::sys::prctl;

use crate::runtime::memory;

/// The name of the process, at most 15 bytes: different from the monitor's, for tools that signal by name.
pub const WORKER: &str = "zklock-worker";

/// Shows `title` in place of the arguments, cut to their length. A failure does no harm.
pub(super) fn set(title: &str) {
    // A process that hides its memory hides it from itself too, unless it runs as root.
    let hidden = !prctl::get_dumpable().unwrap_or(true);
    if hidden {
        let _ = prctl::set_dumpable(true);
    }
    let set = CString::new(WORKER)
        .map_err(Into::into)
        .and_then(|name| Ok(prctl::set_name(&name)?))
        .and_then(|()| overwrite(title));
    if hidden {
        memory::hide();
    }
    if let Err(error) = set {
        log::debug!("can't change the command line: {error}");
    }
}

/// Overwrites the memory in which the arguments were passed, which the kernel shows.
fn overwrite(title: &str) -> std::io::Result<()> {
    let fields = fs::read_to_string("/proc/self/stat")?;
    let Some((start, end)) = arguments(&fields) else { return Ok(()) };
    // The last byte stays zero: otherwise the kernel would show the environment as well.
    let length = usize::try_from(end.saturating_sub(start + 1)).unwrap_or_default();
    let mut shown: Vec<u8> = title.bytes().take(length).collect();
    shown.resize(length, 0);
    let memory = OpenOptions::new().write(true).open(format!("/proc/{}/mem", process::id()))?;
    memory.write_all_at(&shown, start)
}

/// The start and end of the arguments (`arg_start` and `arg_end` in proc(5)).
fn arguments(fields: &str) -> Option<(u64, u64)> {
    // Field 3 is the first one after the name, which may contain any character.
    let (_, rest) = fields.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(48 - 3);
    let (start, end) = (fields.next()?.parse().ok()?, fields.next()?.trim().parse().ok()?);
    (start != 0 && start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_this_test_are_found_in_its_memory() {
        let fields = fs::read_to_string("/proc/self/stat").unwrap();
        let (start, end) = arguments(&fields).unwrap();
        let shown = fs::read("/proc/self/cmdline").unwrap();
        assert_eq!(end - start, shown.len() as u64);
        let memory = fs::File::open("/proc/self/mem").unwrap();
        let mut bytes = vec![0; shown.len()];
        memory.read_exact_at(&mut bytes, start).unwrap();
        assert_eq!(bytes, shown);
        assert_eq!(arguments("1 (a) b) S 1 2"), None);
    }
}
