//! A mistake in a file is reported with the file, the key and the correct form, and nothing else is done.

use super::{file, with_user_file};
use crate::support::Case;

#[test]
fn a_mistake_is_refused_with_the_file_and_the_key() {
    let case = Case::new("config-mistake");
    for (text, reason) in [
        ("sesion_timeout = 5", "unknown key 'sesion_timeout'; known are zookeeper, "),
        ("on_lost = \"continue\"", "remove 'on_lost': the command is always stopped"),
        ("kill-after = 3\nkill_after = 4", "kill-after is there twice"),
        ("once-per = 60", "unknown key 'once-per'; known are "),
        (
            "kill-after = 'soon'",
            "kill-after: invalid value 'soon' for '--kill-after <SECS>': not a time: write 90",
        ),
        ("conflict-exit-code = 256", "conflict-exit-code: invalid value '256' for "),
        ("signal = 'NOPE'", "signal: invalid value 'NOPE' for "),
        (
            "naming = 'curatr'",
            "naming: invalid value 'curatr' for '--naming <FAMILY>' [possible values: curator, ",
        ),
        ("quiet = 'yes'", "quiet: unexpected value 'yes' for '--quiet' found"),
        ("verbose = 'much'", "verbose: unexpected value 'much' for "),
        (
            "zookeeper = 'a;b'",
            "zookeeper: invalid value 'a;b' for '--zookeeper <HOSTS>': 'a;b' isn't a server",
        ),
        ("zookeeper = ['a', 1]", "zookeeper: must be a text, a number, "),
        ("auth-file = ''", "auth-file: a value is required for '--auth-file <FILE>'"),
        ("session-timeout = 99999999999999999999", "line 1: "),
        ("kill-after = 2\nzookeeper = zk1:2181\n", "line 2: string values must be quoted"),
    ] {
        let config = file(&case, "bad.toml", text);
        for words in
            [&[case.path(), "echo", "ran"][..], &["status", case.path()], &["status", "--show-config"]]
        {
            let output = case.zklock().arg("--config").arg(&config).args(words).run();
            output
                .assert_code(125)
                .assert_stdout("")
                .assert_stderr(&format!("{}: {reason}", config.display()));
            assert_eq!(output.stderr.lines().count(), 1, "{output}");
        }
    }
}

/// If the mistake were reported only when the setting is used, it would be too late.
#[test]
fn a_mistake_counts_also_where_the_command_line_overrides_it() {
    let case = Case::new("config-overridden");
    let output = with_user_file(&case, "kill-after = 'soon'\n")
        .args(["-z", case.hosts(), "--kill-after", "1", case.path(), "true"])
        .run();
    output.assert_code(125).assert_stderr(".config/zklock/config.toml: kill-after: ");
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
    output.assert_code(125).assert_stderr("zklock: ZKLOCK_CONFIG: can't read ");
    let directory = case.zklock().arg("--config").arg(case.dir()).args([case.path(), "true"]).run();
    directory.assert_code(125).assert_stderr("it is neither a regular file nor a pipe");
}

#[test]
fn help_needs_no_sound_configuration() {
    let case = Case::new("config-help");
    with_user_file(&case, "nonsense").arg("--help").run().assert_code(0);
    with_user_file(&case, "nonsense").arg("--version").run().assert_code(0);
}
