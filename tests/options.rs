//! The options: where they end, which of several counts, and what is refused.

use crate::support::{Case, SOON};
use nix::sys::signal::Signal;

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
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn the_short_help_fits_a_terminal_and_the_full_one_is_in_groups() {
    let case = Case::new("help-size");
    let short = case.zklock().arg("-h").run().stdout;
    assert!(short.lines().count() <= 24 && short.lines().all(|line| line.len() <= 80), "{short}");
    let full = case.zklock().arg("--help").run().stdout;
    let places: Vec<_> = ["Locking:", "Waiting:", "Command:", "Connection:", "Security:", "Output:"]
        .map(|heading| full.find(&format!("\n{heading}\n")))
        .into_iter()
        .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{full}");
    for verb in ["completions", "man"] {
        let help = case.zklock().args([verb, "--help"]).run();
        assert!(!help.assert_code(0).stdout.contains("--tls"), "{help}");
    }
    let help = case.zklock().args(["revoke", "-h"]).run();
    assert!(help.assert_code(0).stdout.contains("--force") && !help.stdout.contains("--tls"), "{help}");
}

#[test]
fn the_last_of_a_repeated_option_wins() {
    let case = Case::new("repeated");
    let run = |options: &[&str], command: &str| case.lock(options, ["sh", "-c", command]).run();
    let dead = ["-z", "nosuch.invalid", "-z", case.hosts()];
    run(&dead, "exit 0").assert_code(0);
    let holder = case.holder();
    run(&["-n", "-E", "5", "-E", "6"], "exit 0").assert_code(6);
    run(&["-w", "30", "-w", "0"], "exit 0").assert_code(124);
    run(&["-n", "-n", "-x", "-x", "-q", "-q"], "exit 0").assert_code(124);
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON).assert_signal(Signal::SIGTERM);
}

#[test]
fn a_wrong_option_is_our_failure_and_touches_nothing() {
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
        (&["--on-lost", "panic"], "'panic'"),
        (&["--label", "two\nlines"], "control characters"),
    ] {
        let output = case.lock(options, ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(reason);
        assert_eq!(output.stdout, "");
    }
    assert!(!case.observer().exists(case.path()));
}

#[test]
fn the_commands_own_options_are_its_own() {
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
    let output = case.lock(&["-w", "300ms", "--kill-after", "1m"], ["true"]).run();
    output.assert_code(124).assert_stderr("busy");
    assert!(begun.elapsed() >= std::time::Duration::from_millis(300));
    let config = case.dir().join("units.toml");
    std::fs::write(&config, "session-timeout = '1m'\nkill-after = 1.5\n").unwrap();
    let config = config.to_str().unwrap();
    let shown = case.zklock().args(["--config", config, "status", "--show-config"]).run();
    shown.assert_code(0);
    assert!(shown.stdout.contains("session-timeout = \"1m\""), "{shown}");
    assert!(shown.stdout.contains("kill-after = 1.5"), "{shown}");
    case.lock(&["--config", config, "-n"], ["true"]).run().assert_code(124);
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
}
