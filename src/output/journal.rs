//! The priority of a message in systemd's journal, if that is where stderr goes (sd-daemon(3)).

use std::env;
use std::io::stderr;
use std::sync::OnceLock;

use nix::sys::stat::fstat;
use zklock_core::message::Level;

/// The variable that names the journal's stream by device and inode. It is inherited by processes whose stderr goes
/// elsewhere.
const JOURNAL_STREAM: &str = "JOURNAL_STREAM";

/// Whether stderr is the journal's stream.
pub fn is_stderr() -> bool {
    static IS_JOURNAL: OnceLock<bool> = OnceLock::new();
    *IS_JOURNAL.get_or_init(|| {
        let named = env::var(JOURNAL_STREAM).ok().as_deref().and_then(stream);
        let stream = named.and_then(|named| Some((named, fstat(stderr()).ok()?)));
        stream.is_some_and(|(named, stat)| named == (stat.st_dev, stat.st_ino))
    })
}

/// Whole lines, each with this level's priority if the journal reads them.
pub(super) fn with_priority(level: Level, lines: Vec<u8>) -> Vec<u8> {
    if is_stderr() { prefixed(level, &lines) } else { lines }
}

fn stream(value: &str) -> Option<(u64, u64)> {
    let (device, inode) = value.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}

fn prefixed(level: Level, lines: &[u8]) -> Vec<u8> {
    let prefix: &[u8] = match level {
        Level::Error => b"<3>",
        Level::Warning => b"<4>",
        Level::Notice => b"<5>",
        Level::Step => b"<6>",
        Level::Debug => b"<7>",
    };
    lines.split_inclusive(|&byte| byte == b'\n').flat_map(|line| [prefix, line]).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_priority() {
        assert_eq!(prefixed(Level::Error, b"zklock: a\n  b\n"), b"<3>zklock: a\n<3>  b\n");
        assert_eq!(prefixed(Level::Debug, b"{}\n"), b"<7>{}\n");
    }

    #[test]
    fn a_stream_is_a_device_and_an_inode() {
        assert_eq!(stream("8:4711"), Some((8, 4711)));
        for other in ["", "8", "8:", ":1", "8:x", "-1:4", "8:4711:1"] {
            assert_eq!(stream(other), None, "{other}");
        }
    }
}
