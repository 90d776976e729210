//! Texts that are safe to print, and times as people read them.

use std::time::Duration;

/// A time as people say it: `35 ms`, `1.2 s`, `4 min 10 s`, `2 h 5 min`.
pub fn time(span: Duration) -> String {
    if span < Duration::from_secs(1) {
        return format!("{} ms", span.as_millis());
    }
    let rounded = span.saturating_add(Duration::from_millis(50));
    let (seconds, tenths) = (rounded.as_secs(), rounded.subsec_millis() / 100);
    match seconds {
        0..60 if tenths == 0 => format!("{seconds} s"),
        0..60 => format!("{seconds}.{tenths} s"),
        60..3600 if seconds % 60 == 0 => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if seconds / 60 % 60 == 0 => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// The same in whole seconds, for a line that is redrawn while time passes.
pub fn whole(span: Duration) -> String {
    if span < Duration::from_secs(1) { "0 s".to_owned() } else { time(Duration::from_secs(span.as_secs())) }
}

/// The text without control characters, and cut to a length that fits a line.
pub fn printable(text: &str) -> String {
    printable_up_to(80, text)
}

/// The text without control characters, and cut to this many characters.
pub fn printable_up_to(longest: usize, text: &str) -> String {
    let end = text.char_indices().nth(longest).map(|(end, _)| end);
    let mut shown = without_controls(end.and_then(|end| text.get(..end)).unwrap_or(text));
    if end.is_some() {
        shown.push('…');
    }
    shown
}

/// The text without control characters, however long it is.
pub fn without_controls(text: &str) -> String {
    text.chars().map(|c| if is_shown(c) { c } else { '?' }).collect()
}

/// The text in one line: control characters are blanks, and several blanks are one.
pub fn one_line(text: &str) -> String {
    let shown: String = text.chars().map(|c| if is_shown(c) { c } else { ' ' }).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text without the password of `USER:PASSWORD@` or `digest:USER:PASSWORD`, since messages go into logs.
pub fn without_password(text: &str) -> String {
    let (before, rest) = text.split_at(text.find("digest:").map_or(text.len(), |at| at + "digest:".len()));
    if let Some((user, _)) = rest.split_once(':') {
        return format!("{before}{user}:***");
    }
    let start = text.find("://").map_or(0, |scheme| scheme + 3);
    let password = text.get(start..).and_then(|rest| Some((rest.find(':')?, rest.rfind('@')?)));
    match password.filter(|(colon, at)| colon < at) {
        Some((colon, at)) => format!("{}:***{}", &text[..start + colon], &text[start + at..]),
        None => text.to_owned(),
    }
}

/// Bytes from elsewhere as printable text: what [`without_controls`] replaces, and what isn't UTF-8, becomes its code.
pub fn escaped(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_shown(c) { shown.push(c) } else { shown.extend(c.escape_default()) }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    shown
}

/// Several lines, each [`escaped`].
pub fn escaped_lines(text: &str) -> String {
    text.split('\n').map(|line| escaped(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

/// A word as it is typed in a shell: in double quotes if it needs any, because single ones stand around whole commands in
/// messages.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,=@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut typed = String::from('"');
    for c in word.chars() {
        if "\\\"$`".contains(c) {
            typed.push('\\');
        }
        typed.push(c);
    }
    typed + "\""
}

/// Whether a character is safe to print. Control characters move the cursor, right-to-left and zero-width characters
/// make one name look like another, and line separators break a line.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        && !matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        && !matches!(c, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_bytes_are_shown_as_their_codes() {
        assert_eq!(escaped(b"plain \\ \xc3\xbc"), "plain \\ ü");
        assert_eq!(escaped(b"a\x1b[1m\r\n\t\xff\xe2\x80\xae"), "a\\u{1b}[1m\\r\\n\\t\\xff\\u{202e}");
        assert_eq!(escaped_lines("a\nb\x07"), "a\nb\\u{7}");
    }

    #[test]
    fn passwords_are_left_out() {
        for (text, shown) in [
            ("zk://ci:pw@host:2181", "zk://ci:***@host:2181"),
            ("ci:p/w:@,@host", "ci:***@host"),
            ("a:b@h1,c:d@h2/app", "a:***@h2/app"),
            ("host:2181", "host:2181"),
            ("world:anyone:r,digest:ci:p:w", "world:anyone:r,digest:ci:***"),
            ("digest:ci", "digest:ci"),
            ("ci@host:2181", "ci@host:2181"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }

    #[test]
    fn a_word_is_quoted_if_a_shell_would_change_it() {
        for (word, typed) in [
            ("/locks/job-1", "/locks/job-1"),
            ("", "\"\""),
            ("/a b", "\"/a b\""),
            ("/it's;$x`\"\\", "\"/it's;\\$x\\`\\\"\\\\\""),
        ] {
            assert_eq!(shell_word(word), typed);
        }
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        for (millis, said) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_290, "1.3 s"),
            (1_000, "1 s"),
            (2_049, "2 s"),
            (2_050, "2.1 s"),
            (59_949, "59.9 s"),
            (59_960, "1 min"),
            (250_000, "4 min 10 s"),
            (300_000, "5 min"),
            (3_599_960, "1 h"),
            (43_200_000, "12 h"),
            (7_500_000, "2 h 5 min"),
        ] {
            assert_eq!(time(Duration::from_millis(millis)), said);
        }
    }

    #[test]
    fn a_redrawn_time_has_no_fractions() {
        for (millis, said) in
            [(0, "0 s"), (999, "0 s"), (1_000, "1 s"), (2_900, "2 s"), (65_500, "1 min 5 s")]
        {
            assert_eq!(whole(Duration::from_millis(millis)), said);
        }
    }
}
