//! The manual page: it is valid, and complete compared with the help.

use crate::support::{Case, Zklock, new_marker, skip};
use std::fs;
use std::process::Command;

#[test]
fn the_manual_page_is_valid_for_man_groff_and_mandoc() {
    let case = Case::new("manual-page");
    let page = case.dir().join("zklock.1");
    fs::write(&page, &Zklock::bare(&new_marker()).arg("man").run().assert_code(0).stdout).unwrap();
    for (program, arguments) in [
        ("man", &["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"][..]),
        ("groff", &["-man", "-Tutf8", "-ww", "-z"]),
        ("mandoc", &["-Tlint", "-Wwarning"]),
    ] {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(&page)
            .env("LC_ALL", "C.UTF-8")
            .env("MANROFFSEQ", "")
            .env("MANWIDTH", "80");
        let Ok(output) = command.output() else {
            skip(&format!("{program} is not installed"));
            continue;
        };
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && messages.is_empty(), "{program}: {messages}");
        // `man -Z` prints the page.
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(program == "man" || stdout.is_empty(), "{program}: {stdout}");
    }
}

#[test]
fn the_manual_and_the_help_begin_with_what_zklock_does() {
    let case = Case::new("manual-name");
    let manual = case.zklock().arg("man").run().stdout;
    let line = "Runs COMMAND while it holds the lock PATH in ZooKeeper\n";
    assert!(manual.contains(&format!(".SH NAME\nzklock \\- {line}")), "{manual}");
    let help = case.zklock().arg("--help").run().stdout;
    assert!(help.starts_with(line), "{help}");
}

#[test]
fn the_manual_has_every_option_of_the_help() {
    let case = Case::new("manual");
    let manual = case.zklock().arg("man").run().stdout.replace("\\-", "-");
    for words in [&["--help"][..], &["status", "--help"], &["revoke", "--help"], &["check", "--help"]] {
        let help = case.zklock().args(words).run().stdout;
        let options = help.split_whitespace().filter(|word| word.starts_with("--"));
        let mut count = 0;
        for option in options.map(|word| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())) {
            // The manual doesn't repeat aliases.
            if !["--", "--nb", "--nonblocking", "--wait"].contains(&option) {
                assert!(manual.contains(option), "{option}");
                count += 1;
            }
        }
        assert!(count > 5, "{help}");
    }
    for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SUBCOMMANDS"] {
        assert!(
            manual.contains(&format!(".SH {section}\n")) || manual.contains(&format!(".SH \"{section}\""))
        );
    }
    for code in 123..=127 {
        assert!(manual.contains(&format!("\n.B {code}\n")), "{code}");
    }
}
