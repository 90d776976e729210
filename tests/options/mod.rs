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
