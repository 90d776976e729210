//! Reads the short files of `/proc`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Larger than any of these files usually is.
const ENOUGH: usize = 1024;

/// The content of the file at `path`. The kernel gives these files no size, so `fs::read_to_string` would read them in
/// many small parts; `take` keeps the standard library from asking for the size.
pub(super) fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(ENOUGH);
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
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
