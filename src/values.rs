//! Parses option values, and explains invalid ones.

use std::ffi::OsStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use zklock_core::text::one_line;
use zklock_core::{duration, signal};

/// The number of slots: at least 1.
pub(crate) fn slots(text: &str) -> Result<u32> {
    match text.parse() {
        Ok(slots) if slots > 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(slots),
        _ => bail!("the number of slots is from 1 to 4294967295"),
    }
}

/// A time of at least a millisecond.
pub(crate) fn positive_time(text: &str) -> Result<Duration> {
    let time = duration::parse(text)?;
    if time < Duration::from_millis(1) {
        bail!("must be 1ms or longer");
    }
    Ok(time)
}

/// A session timeout, rounded down to milliseconds. ZooKeeper's protocol has it as a signed 32-bit number of
/// milliseconds.
pub(crate) fn session_timeout(text: &str) -> Result<Duration> {
    let time = positive_time(text)?;
    if time.as_millis() > 2_147_483_647 {
        bail!("longer than ZooKeeper can express (24 days)");
    }
    Ok(Duration::from_millis(u64::try_from(time.as_millis())?))
}

/// An exit code. A number above 255 is refused; flock(1) accepts 600 and exits with 88.
pub(crate) fn exit_code(text: &str) -> Result<u8> {
    match text.parse() {
        Ok(code) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(code),
        _ => bail!("an exit code is a number from 0 to 255"),
    }
}

/// A signal by its name, with or without SIG, or by its number.
pub(crate) fn signal(text: &str) -> Result<i32> {
    signal::parse(text).context("not a signal; write a name such as TERM, INT or RTMIN+3, or a number")
}

/// The longest label in bytes: it is stored in the lock node and read by each waiter.
const LONGEST_LABEL: usize = 200;

/// A label, cleaned and cut: it may come from a variable, and must not keep a command from running. It is empty if nothing
/// is left.
pub(crate) fn label(text: &OsStr) -> String {
    let mut label = one_line(&text.to_string_lossy());
    if label.len() > LONGEST_LABEL {
        label.truncate(label.floor_char_boundary(LONGEST_LABEL - '…'.len_utf8()));
        label.push('…');
    }
    label
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn some_times_have_bounds() {
        assert!(positive_time("1ms").is_ok());
        assert!(positive_time("0").is_err() && positive_time("0.5ms").is_err());
        assert!(session_timeout("24d").is_ok());
        assert!(session_timeout("25d").is_err() && session_timeout("0s").is_err());
    }

    #[test]
    fn exit_codes_are_0_to_255() {
        assert!(exit_code("0").is_ok_and(|code| code == 0));
        assert!(exit_code("255").is_ok_and(|code| code == 255));
        for text in ["256", "600", "-1", "+1", "", "x"] {
            assert!(exit_code(text).is_err(), "{text}");
        }
    }

    #[test]
    fn slots_are_1_or_more() {
        assert!(slots("1").is_ok_and(|slots| slots == 1));
        for text in ["0", "-1", "+1", "", "x", "4294967296"] {
            assert!(slots(text).is_err(), "{text}");
        }
    }

    #[test]
    fn signals_have_names_and_numbers() {
        for text in ["TERM", "SIGTERM", "term", "15"] {
            assert!(signal(text).is_ok_and(|signal| signal == signal::SIGTERM), "{text}");
        }
        assert!(signal("NONSENSE").is_err() && signal("0").is_err() && signal("99").is_err());
    }

    #[test]
    fn labels_are_cleaned_and_cut() {
        for (text, expected) in [
            ("nightly backup", "nightly backup"),
            (" \u{a0}\u{3000}", ""),
            ("\tfix: a\r\n\nlonger  text \n", "fix: a longer text"),
            ("\x1b[2Jx\u{202e}", "[2Jx"),
            (&"x".repeat(200), &"x".repeat(200)),
            (&"x".repeat(201), &("x".repeat(197) + "…")),
            (&"ü".repeat(101), &("ü".repeat(98) + "…")),
        ] {
            assert_eq!(label(OsStr::new(text)), expected);
        }
        assert_eq!(label(OsStr::from_bytes(b"a\xff")), "a\u{fffd}");
    }
}
