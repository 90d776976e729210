//! A mistake in a file is reported with the file, the key and the correct form, and nothing else is done.

use super::{file, with_user_file};
use crate::support::Case;

/// Checks the error about a file with this text, from a run and from a subcommand.
#[track_caller]
fn assert_refused(case: &Case, text: &str, reasons: &[&str]) {
    let config = file(case, "bad.toml", text);
    let all = [&[case.path(), "echo", "ran"][..], &["status", case.path()], &["status", "--show-config"]];
    // Files that a setting names are read only for a connection.
    let all = if text.contains("-file") { &all[..2] } else { &all[..] };
    for words in all {
        let output = case.zklock().arg("--config").arg(&config).args(*words).run();
        output.assert_code(125).assert_stderr(&config.display().to_string());
        for reason in reasons {
            output.assert_stderr(reason);
        }
        assert_eq!(output.stdout, "", "{text}");
        assert_eq!(output.stderr.lines().count(), 1, "{output}");
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_known_ones() {
    let case = Case::new("config-key");
    assert_refused(&case, "sesion_timeout = 5", &["unknown key 'sesion_timeout'; known are zookeeper, "]);
    assert_refused(&case, "once-per = 60", &["'once-per'", "only the command line"]);
}

#[test]
fn a_number_that_is_too_large_is_told_so() {
    let case = Case::new("config-large");
    for key in
        ["session-timeout = 99999999999999999999", "slots = 99999999999999999999", "kill-after = 1e400"]
    {
        let name = key.split(' ').next().unwrap();
        let reason = format!("line 2: {name}: the number is too large; write a smaller one");
        assert_refused(&case, &format!("quiet = true\n{key}"), &[&reason]);
    }
}

#[test]
fn a_bad_value_is_refused_with_its_key() {
    let case = Case::new("config-value");
    for (text, reasons) in [
        ("kill-after = 'soon'", ["kill-after", "soon: not a time: write 90"]),
        ("conflict-exit-code = 256", ["conflict-exit-code", "0 to 255"]),
        ("session-timeout = 1e300", ["session-timeout: 1e300: ", "longer than 30 years"]),
        ("signal = 'NOPE'", ["signal", "not a signal"]),
        ("naming = 'curatr'", ["naming", "possible values: curator, "]),
        ("quiet = 'yes'", ["quiet", "true or false"]),
        ("quiet = true\nzookeeper = 'a:2181 b:2181'", ["line 2: zookeeper", "write a:2181,b:2181"]),
        ("zookeeper = 'a;b'", ["line 1: zookeeper", "write a,b"]),
        ("zookeeper = 'zk://h'", ["line 1: zookeeper", "no 'zk://' before them"]),
        ("\n\nverbose = 'much'", ["line 3: verbose", "1 is -v"]),
        ("auth-file = '/no/such'", ["line 1: auth-file", "can't read /no/such"]),
        ("label = ['a']", ["label", "a string or a number, not a list"]),
        ("zookeeper = ['a', 1]", ["zookeeper", "a string, or a list of strings"]),
        ("zookeeper = 2181", ["zookeeper: 2181", "write HOST:2181, as in localhost:2181"]),
        ("label = \"\\u001b\"", ["label", "control characters"]),
    ] {
        assert_refused(&case, text, &reasons);
    }
}

#[test]
fn what_is_no_toml_is_refused_with_the_line() {
    let case = Case::new("config-toml");
    assert_refused(&case, "kill-after = 2\nzookeeper = zk1:2181\n", &["line 2: "]);
    assert_refused(&case, "quiet = true\n\nquiet = true\n", &["line 3: "]);
    assert_refused(&case, "just some words", &["line 1: "]);
    assert_refused(
        &case,
        "\nzookeeper = zk1:2181",
        &["line 2: a text needs quotes: write zookeeper = \"zk1:2181\""],
    );
    assert_refused(&case, "kill-after = 5s", &["line 1: a text needs quotes: write kill-after = \"5s\""]);
}

#[test]
fn a_file_of_other_bytes_than_utf_8_is_refused_with_the_line() {
    let case = Case::new("config-bytes");
    let path = file(&case, "bytes.toml", "");
    std::fs::write(&path, b"quiet = true\nlabel = '\xff'\n").unwrap();
    let output = case.zklock().arg("--config").arg(&path).arg("status").run();
    output.assert_code(125).assert_stderr("bytes.toml: line 2: it isn't UTF-8");
}

#[test]
fn a_key_in_both_spellings_is_refused() {
    let case = Case::new("config-spellings");
    let text = "session-timeout = 10\nquiet = true\nsession_timeout = 20\n";
    assert_refused(&case, text, &["line 3: 'session-timeout' is set already, in line 1"]);
}

/// If the mistake were reported only when the setting is used, it would be too late.
#[test]
fn a_mistake_counts_also_where_the_command_line_overrides_it() {
    let case = Case::new("config-overridden");
    let output = with_user_file(&case, "kill-after = 'soon'\n")
        .args(["-z", case.hosts(), "--kill-after", "1", case.path(), "true"])
        .run();
    output.assert_code(125).assert_stderr(".config/zklock/config.toml: line 1: kill-after");
}

#[test]
fn a_file_that_is_named_has_to_be_there() {
    let case = Case::new("config-missing");
    let missing = case.dir().join("nosuch.toml");
    let by_option = case.zklock().arg("--config").arg(&missing);
    let by_variable = case.zklock().env("ZKLOCK_CONFIG", &missing);
    for zklock in [by_option, by_variable] {
        let output = zklock.args([case.path(), "echo", "ran"]).run();
        output.assert_code(125).assert_stderr(&missing.display().to_string()).assert_stderr("No such file");
        assert_eq!(output.stdout, "");
    }
    let output = case.zklock().env("ZKLOCK_CONFIG", &missing).arg("status").run();
    output.assert_code(125).assert_stderr("zklock: ZKLOCK_CONFIG: can't read the configuration file");
    let directory = case.zklock().arg("--config").arg(case.dir()).args([case.path(), "true"]).run();
    directory.assert_code(125).assert_stderr("can't read the configuration file");
}

#[test]
fn help_needs_no_sound_configuration() {
    let case = Case::new("config-help");
    with_user_file(&case, "nonsense").arg("--help").run().assert_code(0);
    with_user_file(&case, "nonsense").arg("--version").run().assert_code(0);
}
