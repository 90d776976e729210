//! Times as timeout(1) and sleep(1) write them: `90`, `1.5`, `500ms`, `30s`, `10m`, `2h`, `1d`.

use std::time::Duration;

use anyhow::{Result, bail};

/// The longest time in seconds, so that no sum of times overflows.
const LONGEST: f64 = 1e9;

/// The units, in milliseconds, the longest first.
const UNITS: [(&str, u32); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a time. A plain number is seconds. An error names the valid forms.
pub fn parse(text: &str) -> Result<Duration> {
    const FORM: &str = "not a time: write 90, 1.5, 500ms, 30s, 10m, 2h or 1d";
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit = if unit.is_empty() { "s" } else { unit };
    let known = UNITS.into_iter().find(|(name, _)| *name == unit);
    // Rust's own parser also takes "inf", "nan", "1e3" and "+1".
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        bail!(FORM);
    }
    let (Some((_, millis)), Ok(number)) = (known, number.parse::<f64>()) else {
        bail!(FORM);
    };
    let seconds = number * f64::from(millis) / 1000.0;
    if seconds > LONGEST {
        bail!("longer than 30 years, the longest time that zklock takes");
    }
    Ok(Duration::try_from_secs_f64(seconds)?)
}

/// Writes a time in the form that [`parse`] takes, in the longest unit that needs no fraction.
pub fn text(time: Duration) -> String {
    let whole = time.as_millis();
    let exact = |(_, millis): &(&str, u32)| whole > 0 && whole.is_multiple_of(u128::from(*millis));
    match UNITS.into_iter().find(exact) {
        Some(("ms", _)) if whole > 1000 => format!("{}s", time.as_secs_f64()),
        Some((unit, millis)) => format!("{}{unit}", whole / u128::from(millis)),
        None => format!("{}s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_is_a_number_with_a_unit_or_seconds() {
        for (text, millis) in [
            ("0", 0),
            ("90", 90_000),
            ("1.5", 1_500),
            (".25", 250),
            ("3.", 3_000),
            ("500ms", 500),
            ("30s", 30_000),
            ("0.5s", 500),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1.5d", 129_600_000),
        ] {
            assert_eq!(parse(text).ok(), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn the_longest_time_is_allowed_and_anything_longer_refused() {
        assert_eq!(parse("1000000000").ok(), Some(Duration::from_secs(1_000_000_000)));
        assert!(parse("1000000000.1").is_err_and(|error| error.to_string().contains("longer than 30 years")));
    }

    #[test]
    fn anything_else_is_refused_with_the_form_to_write() {
        for text in [
            "",
            "-1",
            "+1",
            "-1s",
            "inf",
            "nan",
            "NaN",
            "1e3",
            "1.2.3",
            ".",
            "s",
            "ms",
            "1 s",
            " 1",
            "1S",
            "1M",
            "1min",
            "1h30m",
            "30 parsecs",
            "١",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, "not a time: write 90, 1.5, 500ms, 30s, 10m, 2h or 1d", "{text}");
        }
        for text in ["99999999999", "99999d", &"9".repeat(400)] {
            assert!(parse(text).unwrap_err().to_string().contains("30 years"), "{text}");
        }
    }

    #[test]
    fn a_time_is_shown_in_the_longest_unit_that_needs_no_fraction() {
        for (given, shown) in [
            ("0", "0s"),
            ("90", "90s"),
            ("1.5", "1.5s"),
            ("0.5", "500ms"),
            ("1000ms", "1s"),
            ("30", "30s"),
            ("600", "10m"),
            ("7200", "2h"),
            ("86400", "1d"),
        ] {
            assert_eq!(text(parse(given).unwrap()), shown, "{given}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_means_the_same_when_it_is_read(millis in 0..1_000_000_000_000u64) {
            let time = Duration::from_millis(millis);
            let read = parse(&text(time)).unwrap();
            prop_assert!(read.abs_diff(time) < Duration::from_micros(200), "{} {read:?}", text(time));
        }

        #[test]
        fn any_text_is_understood_or_refused(text in "\\PC{0,10}|[0-9.]{0,5}[a-z]{0,3}") {
            let _ = parse(&text);
        }
    }
}
