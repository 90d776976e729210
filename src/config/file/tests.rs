use proptest::prelude::*;

use super::*;
use crate::cli::definition;

fn values(text: &str) -> Result<Vec<(&'static str, String)>, String> {
    let content = parse(&definition(), "f.toml", text).map_err(|error| error.to_string())?;
    Ok(content.values.into_iter().map(|value| (value.key, value.text)).collect())
}

#[test]
fn values_are_the_same_as_on_the_command_line() {
    let text = "zookeeper = 'zk1:2181,zk2:2181'\nkill-after = 2.5\nsession_timeout = 12\nquiet = true";
    let expected = [
        ("kill-after", "2.5"),
        ("quiet", "true"),
        ("session-timeout", "12"),
        ("zookeeper", "zk1:2181,zk2:2181"),
    ];
    let mut parsed = values(text).unwrap();
    parsed.sort_unstable();
    assert_eq!(parsed, expected.map(|(key, value)| (key, value.to_owned())));
    assert_eq!(values("quiet = false"), Ok(vec![("quiet", "false".to_owned())]));
}

#[test]
fn each_mistake_is_reported_with_its_remedy() {
    for (text, expected) in [
        ("sesion-timeout = 5", "f.toml: line 1: unknown key 'sesion-timeout'; known are zookeeper, "),
        ("zokeeper = 'a'", "f.toml: line 1: unknown key 'zokeeper'; known are zookeeper, "),
        (
            "nonblock = true",
            "f.toml: line 1: unknown key 'nonblock'; a file can't set it, only the command line",
        ),
        ("xyzzy = 1", "f.toml: line 1: unknown key 'xyzzy'; known are zookeeper, "),
        ("kill-after = 'soon'", "f.toml: line 1: kill-after: soon: not a time: write 90, 1.5, "),
        ("kill-after = -1", "f.toml: line 1: kill-after: -1: not a time: write 90, 1.5, "),
        ("kill-after = nan", "f.toml: line 1: kill-after: nan: not a time: write 90, 1.5, "),
        ("kill-after = inf", "f.toml: line 1: kill-after: inf: not a time: write 90, 1.5, "),
        (
            "conflict-exit-code = 600",
            "f.toml: line 1: conflict-exit-code: 600: an exit code is a number from 0 to 255",
        ),
        (
            "naming = 'curatr'",
            "f.toml: line 1: naming: invalid value 'curatr' for '--naming <FAMILY>' [possible values: curator, ",
        ),
        ("quiet = 'yes'", "f.toml: line 1: quiet: must be true or false"),
        ("zookeeper = ['a', 1]", "f.toml: line 1: zookeeper: must be a string, or a list of strings"),
        ("zookeeper = []", "f.toml: line 1: zookeeper: an empty text is no value; remove the line"),
        ("zookeeper = ['a', '']", "f.toml: line 1: zookeeper: ['a', '']: a server's name is empty"),
        ("[zookeeper]\nhosts = 'a'", "f.toml: line 1: zookeeper: must be a string or a number, not a table"),
        ("label = ['a']", "f.toml: line 1: label: must be a string or a number, not a list"),
        ("label = true", "f.toml: line 1: label: must be a string or a number, not true or false"),
        ("label = 2026-01-01", "f.toml: line 1: label: must be a string or a number, not a date"),
        ("zookeeper = 2181", "f.toml: line 1: zookeeper: 2181: '2181' is a port without a host: "),
        ("auth = 'x'", "f.toml: line 1: auth: must be a list of strings"),
        ("\nzookeeper = ", "f.toml: line 2: "),
        ("kill-after = 5\n\nkill-after = 5", "f.toml: line 3: 'kill-after' is set already, in line 1"),
        ("\nzookeeper = a:1", "f.toml: line 2: a text needs quotes: write zookeeper = \"a:1\""),
        ("kill-after = 5s", "f.toml: line 1: a text needs quotes: write kill-after = \"5s\""),
        (
            "\nsession-timeout = 99999999999999999999",
            "f.toml: line 2: session-timeout: the number is too large; write a smaller one",
        ),
        ("slots = 99999999999999999999", "f.toml: line 1: slots: the number is too large; write a smaller"),
        ("kill-after = 1e400 # x", "f.toml: line 1: kill-after: the number is too large; write a smaller"),
        ("slots = 1e400", "f.toml: line 1: slots: the number is too large; write a smaller one"),
        ("verbose = 9223372036854775808", "f.toml: line 1: verbose: the number is too large"),
        ("'verbose' = +9_223_372_036_854_775_808", "f.toml: line 1: verbose: the number is too large"),
        ("verbose = 0xffff_ffff_ffff_ffff_f", "f.toml: line 1: verbose: the number is too large"),
        ("quiet = 99999999999999999999", "f.toml: line 1: quiet: the number is too large"),
        ("kill-after = -1e400", "f.toml: line 1: kill-after: the number is too small; write a larger one"),
        ("verbose = -9223372036854775809", "f.toml: line 1: verbose: the number is too small"),
        (
            "label = 99999999999999999999",
            "f.toml: line 1: label: the number is too large; if it is a text, write label = \"99999999999999999999\"",
        ),
        ("x = [\n1,\n99999999999999999999]", "f.toml: line 1: unknown key 'x'; known are zookeeper, "),
        ("kill-after = 1e300", "f.toml: line 1: kill-after: 1e300: longer than 30 years"),
        ("slots = -1e400", "f.toml: line 1: slots: the number is too small; write a larger one"),
        ("kill-after = 1e400s", "f.toml: line 1: a text needs quotes: write kill-after = \"1e400s\""),
        ("kill-after = 99999999999999999999s", "f.toml: line 1: a text needs quotes: write kill-after"),
        ("kill-after = 007", "f.toml: line 1: a text needs quotes: write kill-after = \"007\""),
        ("auth = 99999999999999999999", "f.toml: line 1: auth: must be a list of strings"),
        ("kill-after = 1.5s", "f.toml: line 1: a text needs quotes: write kill-after = \"1.5s\""),
        ("zookeeper = fs1:2181", "f.toml: line 1: a text needs quotes: write zookeeper = \"fs1:2181\""),
        ("signal = INT # x", "f.toml: line 1: a text needs quotes: write signal = \"INT\""),
        ("label = two words # x", "f.toml: line 1: a text needs quotes: write label = \"two words\""),
        ("tls = yes", "f.toml: line 1: tls must be true or false"),
        ("zookeeper =", "f.toml: line 1: zookeeper has no value"),
        ("atuh = ['digest:a:b']", "f.toml: line 1: unknown key 'atuh'; known are zookeeper, "),
        ("\n\nkill-after = 'soon'", "f.toml: line 3: kill-after: soon: not a time"),
        (
            "session-timeout = 4\n\nsession_timeout = 5",
            "f.toml: line 3: 'session-timeout' is set already, in line 1: dashes and underscores are equivalent",
        ),
        (
            "session_timeout = 4\nsession-timeout = 5",
            "f.toml: line 2: 'session-timeout' is set already, in line 1",
        ),
        ("quiet = false\nverbose = 300", "f.toml: line 2: verbose: 300: must be a number: 1 is -v, 2 is -vv"),
        ("auth-file = \"\"", "f.toml: line 1: auth-file: an empty text is no value; remove the line"),
        ("label = \"a\\u001b\"", "f.toml: line 1: label: a\\u{1b}: a label has no control characters"),
        ("\"a\\u001b\" = 1", "f.toml: line 1: unknown key 'a\\u{1b}'"),
    ] {
        let error = values(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_secret_without_quotes_is_not_repeated() {
    for text in ["auth = digest:ci:s3cret", "auth = [digest:ci:s3cret]", "auth = 'digest:ci:s3cret"] {
        let error = values(text).unwrap_err();
        assert!(error.contains("auth = [\"SCHEME:CREDENTIALS\"]"), "{text}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_the_line() {
    let error = utf8("f.toml", b"quiet = true\nlabel = '\xff'").unwrap_err();
    assert_eq!(error.to_string(), "f.toml: line 2: it isn't UTF-8");
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,200}") {
        let _ = parse(&definition(), "f.toml", &text);
    }
}
