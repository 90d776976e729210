//! Reads the short files of `/proc`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nix::unistd::Pid;

/// Larger than any of these files usually is.
const ENOUGH: usize = 1024;

/// The content of the file at `path`. The kernel gives these files no size, so `fs::read_to_string` would read them in
/// many small parts; `take` keeps the standard library from asking for the size.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut content = Vec::with_capacity(ENOUGH);
    File::open(path)?.take(u64::MAX).read_to_end(&mut content)?;
    Ok(text(content))
}

/// The signals in this field of a process's `status`, such as `SigIgn`, one bit each.
pub fn signals(process: Pid, field: &str) -> Option<u64> {
    let status = read(format!("/proc/{process}/status")).ok()?;
    let set = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// Whether this signal is in such a set.
pub fn contains(set: u64, signal: i32) -> bool {
    set >> (signal - 1) & 1 == 1
}

/// The text of such a file. A process may have any bytes in its name, and the kernel cuts it after 15 of them, if need
/// be within a character.
pub fn text(content: Vec<u8>) -> String {
    String::from_utf8(content).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_its_end() -> io::Result<()> {
        assert_eq!(read("/proc/self/comm")?.lines().count(), 1);
        assert!(read("/proc/self/maps")?.len() > ENOUGH);
        assert!(read("/proc/self/no-such-file").is_err());
        Ok(())
    }
}
