//! The manual page: readers of manual pages understand it, and it tells what the help tells.

use crate::support::{Case, Zklock, new_marker, skip};
use std::fs;
use std::process::Command;

#[test]
fn no_reader_of_manual_pages_complains() {
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
            skip(&format!("there is no {program}"));
            continue;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{program}: {said}");
        // `man -Z` prints the page.
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(program == "man" || stdout.is_empty(), "{program}: {stdout}");
    }
}

/// Every option of every verb, and every exit code, is in the manual.
#[test]
fn the_manual_tells_what_the_help_tells() {
    let case = Case::new("manual");
    let manual = case.zklock().arg("man").run().stdout.replace("\\-", "-");
    for words in [&["--help"][..], &["status", "--help"], &["revoke", "--help"], &["check", "--help"]] {
        let help = case.zklock().args(words).run().stdout;
        let options = help.split_whitespace().filter(|word| word.starts_with("--"));
        let mut count = 0;
        for option in options.map(|word| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())) {
            // Other names of an option are not repeated.
            if !["--", "--nb", "--nonblocking", "--wait"].contains(&option) {
                assert!(manual.contains(option), "{option}");
                count += 1;
            }
        }
        assert!(count > 5, "{help}");
    }
    for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "VERBS"] {
        assert!(
            manual.contains(&format!(".SH {section}\n")) || manual.contains(&format!(".SH \"{section}\""))
        );
    }
    for code in 123..=127 {
        assert!(manual.contains(&format!("\n.B {code}\n")), "{code}");
    }
}
