//! The command line options: parsing, repetition, and errors.

mod help;

use crate::support::{Case, DEADLINE, Zklock, end};
use nix::sys::signal::Signal;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn help_and_version_go_to_stdout() {
    let case = Case::new("help");
    for (option, text) in [
        ("--help", "Usage: zklock [OPTIONS] PATH [--] COMMAND"),
        ("-h", "--nonblock"),
        ("--version", concat!("zklock ", env!("CARGO_PKG_VERSION"))),
        ("-V", "zklock "),
    ] {
        let output = case.zklock().arg(option).run();
        assert!(output.assert_code(0).stdout.contains(text), "{output}");
        assert!(text != "zklock " || output.stdout.lines().count() == 1, "{output}");
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn the_short_help_has_the_most_used_options_and_the_full_one_all_in_groups() {
    let case = Case::new("help-size");
    let short = case.zklock().arg("-h").run().stdout;
    assert!(
        short.lines().count() <= 50 && short.contains("--once-per") && !short.contains("--tls"),
        "{short}"
    );
    let full = case.zklock().arg("--help").run().stdout;
    let places: Vec<_> = ["Locking:", "Waiting:", "Command:", "Connection:", "Security:", "Output:"]
        .map(|heading| full.find(&format!("\n{heading}\n")))
        .into_iter()
        .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{full}");
    let help = case.zklock().args(["revoke", "-h"]).run();
    assert!(help.assert_code(0).stdout.contains("--force") && !help.stdout.contains("--tls"), "{help}");
    assert_eq!(
        case.zklock().args(["help", "revoke"]).run().stdout,
        case.zklock().args(["revoke", "--help"]).run().stdout
    );
}

/// Words that are zklock's own elsewhere, at the end of a command too.
#[test]
fn no_word_of_the_command_is_read() {
    let case = Case::new("own-words");
    for command in [
        &["echo", "status", "help"][..],
        &["echo", "help", "status"],
        &["echo", "help"],
        &["echo", "version", "-V"],
        &["echo", "wait", "--help"],
        &["echo", "check", "-h"],
        &["echo", "completions", "--version"],
    ] {
        for dashes in [&["--"][..], &[]] {
            let output = case.zklock().arg(case.path()).args(dashes).args(command).run();
            output.assert_code(0).assert_stdout(&format!("{}\n", command[1..].join(" ")));
        }
    }
    for word in ["help", "version", "status"] {
        case.lock(&[], [word]).run().assert_code(127);
    }
}

/// As getopt(3) has it, the word behind such an option is its value, whatever it looks like.
#[test]
fn the_word_behind_an_option_is_its_value_even_with_a_dash() {
    let case = Case::new("dash-values");
    let time = "not a time: write 90, 1.5, 500ms, 30s, 10m, 2h or 1d";
    for (option, value, reason) in [
        ("-w", "-10s", time),
        ("--timeout", "-10s", time),
        ("-w", "-n", time),
        ("--connect-timeout", "-1m", time),
        ("--session-timeout", "-500ms", time),
        ("--kill-after", "-5s", time),
        ("--once-per", "-1d", time),
        ("--progress", "-1h", time),
        ("-E", "-1x", "an exit code is a number from 0 to 255"),
        ("--slots", "-3s", "the number of slots is from 1"),
        ("--signal", "-TERM", "not a signal"),
        ("--naming", "-x", "possible values: curator"),
        ("--log-format", "--json", "possible values: text, json"),
        ("-z", "-n", "'-n' isn't a server"),
        ("--acl", "-x", "'-x' isn't SCHEME:ID:PERMISSIONS"),
        ("--config", "-x", "can't read -x: No such file or directory\n"),
        ("--auth-file", "-x", "--auth-file: can't read -x: No such file or directory\n"),
        ("--tls-ca", "-x", "/-x: No such file or directory\n"),
    ] {
        let output = case.zklock().args([option, value, case.path(), "echo", "ran"]).run();
        output.assert_code(125).assert_stdout("").assert_stderr(reason);
    }
    for (words, reason) in [
        (["check", "--session-timeout", "-5s"], time),
        (["status", "--connect-timeout", "-5s"], time),
        (["revoke", "/a", "--node"], "a value is required for '--node <NODE>'"),
    ] {
        case.zklock().args(words).run().assert_code(125).assert_stderr(reason);
    }
    let output = case.zklock().args(["--label", "-x", case.path(), "--", "sh", "-c", "echo ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn the_help_of_a_subcommand_explains_no_option_that_it_lacks() {
    let case = Case::new("help-options");
    for subcommand in ["status", "revoke", "check", "forget"] {
        let help = case.zklock().args([subcommand, "--help"]).run().stdout;
        for option in ["-w", "-n", "-E", "--timeout "] {
            assert!(
                !help.contains(&format!("{option} ")) && !help.contains(&format!("{option},")),
                "{option}: {help}"
            );
        }
    }
}

#[test]
fn the_last_occurrence_of_a_repeated_option_wins() {
    let case = Case::new("repeated");
    let run = |options: &[&str], command: &str| case.lock(options, ["sh", "-c", command]).run();
    let dead = ["-z", "nosuch.invalid", "-z", case.hosts()];
    run(&dead, "exit 0").assert_code(0);
    let holder = case.holder();
    run(&["-n", "-E", "5", "-E", "6"], "exit 0").assert_code(6);
    run(&["-w", "30", "-w", "0"], "exit 0").assert_code(124);
    run(&["-n", "-n", "-x", "-x", "-q", "-q"], "exit 0").assert_code(124);
    end(holder);
}

#[test]
fn an_invalid_option_fails_with_125_and_creates_nothing() {
    let case = Case::new("options");
    for (options, reason) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["-Z"], "-Z"),
        (&["-w", "soon"], "'soon'"),
        (&["-w", "-1"], "not a time: write"),
        (&["--session-timeout", "0"], "'0'"),
        (&["--connect-timeout", "30 parsecs"], "not a time: write 90, 1.5, 500ms, 30s, 10m, 2h or 1d"),
        (&["--kill-after", "inf"], "not a time: write"),
        (&["--once-per", ""], "not a time: write"),
        (&["--signal", "NOPE"], "'NOPE'"),
        (&["--signal", "RTMIN+31"], "'RTMIN+31'"),
        (&["--slots", "0"], "'0' for '--slots <N>': the number of slots is from 1 to 4294967295"),
        (&["-z", "a:2181 b:2181"], "'a:2181 b:2181' isn't a server"),
        (&["-z", "zk1/app,zk2/app"], "the chroot stands once, after the last server"),
        (&["--connect-timeout", "99999999999"], "longer than 30 years, the longest time"),
    ] {
        let output = case.lock(options, ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(reason);
        assert_eq!(output.stdout, "");
    }
    assert!(!case.observer().exists(case.path()));
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for option in ["--help", "-h", "--version"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let zklock =
            std::process::Command::new(env!("CARGO_BIN_EXE_zklock")).arg(option).stdout(full).output();
        let output = zklock.unwrap();
        assert_eq!(output.status.code(), Some(125), "{option}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{option}");
    }
}

#[test]
fn options_after_the_command_belong_to_the_command() {
    let case = Case::new("own-options");
    for option in ["-n", "-v", "-q", "--help", "--version", "-z", "-c", "--timeout=1"] {
        let output = case.lock(&[], ["sh", "-c", r#"echo "[$1]""#, "sh", option]).run();
        let shown = format!("[{option}]\n");
        assert!(output.assert_code(0).stdout.starts_with(&shown), "{output}");
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn a_time_may_have_a_unit() {
    let case = Case::new("units");
    let holder = case.holder();
    let begun = std::time::Instant::now();
    let output = case.lock(&["-w", "5000ms", "--kill-after", "1m"], ["true"]).run();
    output.assert_code(124).assert_stderr("busy");
    assert!(begun.elapsed() >= std::time::Duration::from_secs(5));
    let config = case.dir().join("units.toml");
    std::fs::write(&config, "session-timeout = '1m'\nkill-after = 1.5\n").unwrap();
    let config = config.to_str().unwrap();
    let shown = case.zklock().args(["--config", config, "status", "--show-config"]).run();
    shown.assert_code(0);
    assert!(shown.stdout.contains("session-timeout = \"1m\""), "{shown}");
    assert!(shown.stdout.contains("kill-after = \"1.5\""), "{shown}");
    case.lock(&["--config", config, "-n"], ["true"]).run().assert_code(124);
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}

#[test]
fn an_invalid_variable_is_reported_even_if_the_command_line_overrides_it() {
    let case = Case::new("variable");
    for (value, reason) in [
        (OsStr::new("a;b"), "invalid value 'a;b' for '--zookeeper <HOSTS>': 'a;b' isn't a server"),
        (OsStr::from_bytes(b"h\xff"), "invalid UTF-8 was detected"),
    ] {
        let zklock = || Zklock::bare(case.marker()).env("ZKLOCK_ZOOKEEPER", value);
        for words in [&["status", case.path()][..], &["-z", case.hosts(), case.path(), "echo", "ran"]] {
            let output = zklock().args(words).run();
            output.assert_code(125).assert_stdout("");
            output.assert_stderr(&format!("zklock: ZKLOCK_ZOOKEEPER: zookeeper: {reason}"));
        }
        zklock().args(["completions", "bash"]).run().assert_code(0);
        zklock().arg("-h").run().assert_code(0);
        let output = zklock().args(["-z", "c;d", "status"]).run();
        assert!(output.assert_code(125).stderr.starts_with("zklock: invalid value 'c;d' for "), "{output}");
    }
}

#[test]
fn control_characters_are_escaped_in_messages() {
    let case = Case::new("escaped");
    let bad = OsStr::from_bytes(b"\x1b[1m\xff\r\n");
    let long = OsStr::from_bytes(b"--\x1b[1m\x07");
    let path = OsStr::from_bytes(b"/\x1b[1m");
    for (words, shown) in [
        (&[OsStr::new("-z"), bad, OsStr::new("status")][..], "invalid UTF-8 was detected"),
        (&[OsStr::new("--naming"), OsStr::new("\x07")], "invalid value '' for '--naming"),
        (&[OsStr::new("--config"), bad, OsStr::new("status")], "\\u{1b}[1m"),
        (&[long], "unexpected argument '--' found"),
        (&[bad], "'\\u{1b}[1m\\xff\\r\\n' can't be a lock"),
        (&[path, OsStr::new("true")], "'/\\u{1b}[1m' can't be a lock"),
        (&[OsStr::new("status"), path], "the character U+001B isn't allowed"),
        (&[OsStr::new(case.path()), bad], "'\\u{1b}[1m\\xff\\r\\n' was not found"),
    ] {
        let output = case.zklock().args(words).run();
        output.assert_stderr(shown);
        assert!(output.code.is_some_and(|code| code == 125 || code == 127), "{output}");
        assert!(output.stderr.chars().all(|c| c == '\n' || !c.is_control()), "{output}");
    }
}

#[test]
fn a_mistake_behind_a_subcommand_is_about_its_options() {
    let case = Case::new("subcommand-help");
    for (words, said) in [
        (&["status", "-r"][..], "unexpected argument '-r' found\n"),
        (&["status", "-w"], "unexpected argument '-w' found\n"),
        (&["status", "l"], "invalid value 'l' for '[PATH]...'"),
        (&["status", "-z"], "a value is required for '--zookeeper <HOSTS>'"),
        (&["revoke"], "the following required arguments were not provided: <PATH>\n"),
        (&["revoke", "--node"], "a value is required for '--node <NODE>'"),
        (&["revoke", "l"], "invalid value 'l' for '<PATH>'"),
        (&["check", "--session-timeout", "soon"], "invalid value 'soon' for '--session-timeout <SECS>'"),
        (&["completions", "ksh"], "invalid value 'ksh' for '<SHELL>'"),
    ] {
        let output = case.zklock().args(words).run();
        output.assert_code(125).assert_stdout("").assert_stderr(said);
        assert!(output.stderr.ends_with("\nzklock: for more information, try '--help'\n"), "{output}");
    }
}
