//! The help, options that are repeated, and what a message does with bytes. A mistake in an option is a row of `refused`.

use crate::support::{Case, Zklock, end};
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
    for subcommand in ["status", "revoke", "check", "forget"] {
        let help = case.zklock().args([subcommand, "--help"]).run().stdout;
        let words: Vec<_> = help.split([' ', ',', '\n']).collect();
        assert!(!["-w", "-n", "-E", "--timeout"].iter().any(|option| words.contains(option)), "{help}");
    }
    assert_eq!(
        case.zklock().args(["help", "revoke"]).run().stdout,
        case.zklock().args(["revoke", "--help"]).run().stdout
    );
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
        (&[OsStr::from_bytes(b"/a\xff"), OsStr::new("true")], "UTF-8"),
        (&[OsStr::new("status"), path], "the character U+001B isn't allowed"),
        (&[OsStr::new(case.path()), bad], "'\\u{1b}[1m\\xff\\r\\n' was not found"),
    ] {
        let output = case.zklock().args(words).run();
        output.assert_stderr(shown);
        assert!(output.code.is_some_and(|code| code == 125 || code == 127), "{output}");
        assert!(output.stderr.chars().all(|c| c == '\n' || !c.is_control()), "{output}");
    }
    let variable = Zklock::bare(case.marker()).env("ZKLOCK_ZOOKEEPER", bad).arg("status").run();
    variable
        .assert_code(125)
        .assert_stderr("zklock: ZKLOCK_ZOOKEEPER: zookeeper: invalid UTF-8 was detected");
}
