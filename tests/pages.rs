//! The manual page and the completions: the committed copies are current, and other programs can read them.

use crate::support::{Case, new_marker};
use std::fs;
use std::process::{Command, Output};

const PAGES: [(&str, &[&str]); 4] = [
    ("docs/man/zklock.1", &["man"]),
    ("docs/completions/zklock.bash", &["completions", "bash"]),
    ("docs/completions/_zklock", &["completions", "zsh"]),
    ("docs/completions/zklock.fish", &["completions", "fish"]),
];

fn committed(page: &str) -> String {
    format!("{}/{page}", env!("CARGO_MANIFEST_DIR"))
}

/// What a program says, unless it isn't installed here.
fn said_by(program: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C.UTF-8").env("MANROFFSEQ", "").output().ok()
}

/// It reads the file and has no word to say about it.
#[track_caller]
fn assert_content(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn the_committed_copies_are_current() {
    for (page, words) in PAGES {
        let output = crate::support::Zklock::bare(&new_marker()).args(words).run();
        let committed = fs::read_to_string(committed(page)).unwrap_or_default();
        assert!(output.assert_code(0).stdout == committed, "{page} is old: run scripts/pages");
    }
}

#[test]
fn no_reader_of_manual_pages_complains_where_one_is_installed() {
    let page = committed(PAGES[0].0);
    for (program, arguments) in
        [("groff", &["-man", "-Tutf8", "-ww", "-z", &page][..]), ("mandoc", &["-Tlint", "-Wwarning", &page])]
    {
        if let Some(output) = said_by(program, arguments) {
            assert_content(&output);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        }
    }
}

/// Every option of every verb, and every exit code, is in the manual.
#[test]
fn the_manual_tells_what_the_help_tells() {
    let case = Case::new("manual");
    let manual = case.zklock().arg("man").run().stdout.replace("\\-", "-");
    for words in [&["--help"][..], &["status", "--help"], &["revoke", "--help"]] {
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
