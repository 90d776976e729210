//! The command line that the kernel shows for this process.

use std::{io, ptr};

use crate::process::proc_file;

/// Shows, in place of this process's arguments, what `shown` returns for the number of bytes that there is room for;
/// the rest of the room shows nothing. Only for a process that has read its arguments and won't read them again.
pub fn replace_arguments(shown: impl FnOnce(usize) -> Vec<u8>) -> io::Result<()> {
    let Some((start, end)) = range(&proc_file::read("/proc/self/stat")?) else { return Ok(()) };
    // The last byte stays zero: otherwise the kernel would show the environment as well.
    let room = end - start - 1;
    let mut bytes = shown(room);
    bytes.resize(room, 0);
    // SAFETY: the kernel put the arguments there when the program started: `room` bytes that stay mapped and writable
    // as long as the process lives. There is one thread, or no other one reads arguments, and no reference to them
    // exists: `main` has copied them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), ptr::with_exposed_provenance_mut(start), room) };
    Ok(())
}

/// The start and end of the arguments in memory (`arg_start` and `arg_end` in proc(5)).
fn range(process: &str) -> Option<(usize, usize)> {
    // Field 3 is the first one after the name, which may contain any character.
    let (_, rest) = process.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(48 - 3);
    let (start, end) = (fields.next()?.parse().ok()?, fields.next()?.trim().parse().ok()?);
    (start != 0 && start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn the_arguments_of_this_test_are_found_in_its_memory() {
        let (start, end) = range(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        let shown = fs::read("/proc/self/cmdline").unwrap();
        assert_eq!(end - start, shown.len());
        let memory = fs::File::open("/proc/self/mem").unwrap();
        let mut bytes = vec![0; shown.len()];
        memory.read_exact_at(&mut bytes, start as u64).unwrap();
        assert_eq!(bytes, shown);
        assert_eq!(range("1 (a) b) S 1 2"), None);
    }
}
