//! A stdout that can't be written to: an error for whatever prints there, and nothing to a command.

use crate::support::Case;
use nix::sys::signal::Signal;

/// Shell lines that make stdout closed, full, or only readable, and what zklock says of that.
const UNWRITABLE: [(&str, &str); 3] = [
    ("exec >&-", "it is closed, or open for reading only"),
    ("exec >/dev/full", "No space left on device"),
    ("exec 1</dev/null", "it is closed, or open for reading only"),
];

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let case = Case::new("unwritable");
    let node = case.add_contender("10.0.0.7");
    for (prelude, why) in UNWRITABLE {
        for words in [
            &["status", case.path()][..],
            &["status", "--json", case.path()],
            &["status", "--watch", case.path()],
            &["status", "--watch", "--json", case.path()],
            &["status", "--exit-code", case.path()],
            &["status", "--show-config"],
            &["check", case.path()],
            &["check", "--json"],
            &["revoke", case.path()],
            &["forget", case.path()],
            &["man"],
            &["completions", "bash"],
            &["--help"],
            &["-h"],
            &["--version"],
            &["revoke", "--help"],
        ] {
            let output = case.zklock().args(words).prelude(prelude).run();
            output.assert_code(125).assert_stderr(&format!("zklock: can't write to stdout: {why}"));
        }
    }
    case.observer().delete(&node);
}

/// The kernel sends XFSZ to whoever writes to it.
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let case = Case::new("unwritable-file");
    let limited = format!("exec >'{}'; ulimit -f 0", case.dir().join("stdout").display());
    for words in [&["man"][..], &["--help"], &["check", case.path()]] {
        let output = case.zklock().args(words).prelude(&limited).run();
        output.assert_code(125).assert_stderr("zklock: can't write to stdout: ");
    }
}

#[test]
fn a_reader_that_has_gone_ends_zklock_by_sigpipe() {
    let case = Case::new("gone-reader");
    for words in [
        &["man"][..],
        &["--help"],
        &["-h"],
        &["completions", "bash"],
        &["status", case.path()],
        &["status", "--json", case.path()],
    ] {
        // The reader of a process substitution has ended before zklock starts.
        let prelude = "exec > >(exec true); wait $!";
        let output = case.zklock().args(words).prelude(prelude).run();
        assert_eq!(output.assert_signal(Signal::SIGPIPE).stderr, "", "{words:?}");
    }
}

#[test]
fn nothing_to_print_needs_no_stdout() {
    let case = Case::new("silent");
    case.observer().mkdirs(case.path());
    for (prelude, _) in UNWRITABLE {
        case.zklock().args(["-q", "check", case.path()]).prelude(prelude).run().assert_code(0);
        case.zklock().args(["-q", "forget", case.path()]).prelude(prelude).run().assert_code(0);
    }
}

/// What the command sees of it is tested in `inherited::descriptors`.
#[test]
fn a_command_runs_without_stdout() {
    let case = Case::new("no-stdout");
    for (prelude, _) in UNWRITABLE {
        let output = case.lock(&[], ["sh", "-c", "echo ran >&2; exit 3"]).prelude(prelude).run();
        assert_eq!(output.assert_code(3).stderr, "ran\n");
    }
}
