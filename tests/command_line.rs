//! The meaning of the words on the command line: which are locks, which is the command, and that the command arrives as
//! it was typed.

use crate::support::{Case, Zklock};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

/// Prints each of its arguments in brackets, and the locks that are held.
const SHOW: &str = r#"for a; do printf '[%s]' "$a"; done; echo; echo "$ZKLOCK_PATH""#;

/// `sh` with that script and these arguments.
fn show<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["sh", "-c", SHOW, "sh"], arguments].concat()
}

#[test]
fn the_command_follows_the_path_with_and_without_dashes() {
    let case = Case::new("forms");
    for dashes in [&["--"][..], &[]] {
        let run = case.zklock().arg(case.path()).args(dashes).args(show(&["a", "b"]));
        let output = run.run();
        assert_eq!(output.assert_code(0).stdout, format!("[a][b]\n{}\n", case.path()));
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn several_paths_end_at_the_dashes() {
    let case = Case::new("several");
    let other = format!("{}-other", case.path());
    let script = "echo $ZKLOCK_PATH; echo $ZKLOCK_LOCKS";
    let run = case.zklock().args([&other, case.path(), "--", "sh", "-c", script]);
    let output = run.run();
    let (path, locks) = output.assert_code(0).stdout.split_once('\n').unwrap();
    assert_eq!(path, other, "the single variables speak of the first on the command line");
    let locks: serde_json::Value = serde_json::from_str(locks).unwrap();
    let mut held: Vec<_> = locks.as_array().unwrap().iter().map(|lock| lock["path"].as_str()).collect();
    held.sort_unstable();
    assert_eq!(held, [Some(case.path()), Some(&other)]);
}

#[test]
fn without_dashes_a_second_absolute_word_is_the_command() {
    let case = Case::new("one-path");
    let output = case.zklock().args([case.path(), "/bin/sh", "-c", "echo $0", "--"]).run();
    assert_eq!(output.assert_code(0).stdout, "--\n");
}

#[test]
fn dashes_behind_the_command_belong_to_it() {
    let case = Case::new("log");
    let command = show(&["log", "--", "file"]);
    let output = case.zklock().arg(case.path()).args(command).run();
    assert!(output.assert_code(0).stdout.starts_with("[log][--][file]\n"));
    let command = show(&["--", "-n", "--"]);
    let output = case.lock(&[], command).run();
    assert!(output.assert_code(0).stdout.starts_with("[--][-n][--]\n"));
}

#[test]
fn a_shell_string_may_follow_the_path_or_be_an_option() {
    let case = Case::new("shell-string");
    let string = "echo one | tr o 0; exit 3";
    for words in [
        [case.path(), "-c", string],
        [case.path(), "--command", string],
        ["-c", string, case.path()],
        ["--command", string, case.path()],
    ] {
        let output = case.zklock().args(words).run();
        assert_eq!(output.assert_code(3).stdout, "0ne\n");
    }
}

#[test]
fn a_shell_string_among_the_options_serves_several_paths() {
    let case = Case::new("shell-paths");
    let other = format!("{}-other", case.path());
    let run = case.zklock().args(["-c", "echo $ZKLOCK_LOCKS", case.path(), &other]);
    let output = run.run();
    assert_eq!(output.assert_code(0).stdout.matches("\"path\"").count(), 2);
}

#[test]
fn arguments_arrive_untouched() {
    let case = Case::new("arguments");
    let bytes = OsStr::from_bytes(b"\xff\xfe\x80");
    let plain = ["", " ", "two  words", "'\"`$HOME;*", "line\nline", "\\", "-", "--", "\t"];
    let mut arguments: Vec<OsString> = plain.iter().map(OsString::from).collect();
    arguments.push(bytes.to_owned());
    arguments.push(OsString::new());
    let expected: Vec<String> =
        arguments.iter().map(|argument| format!("{:?}", argument.as_bytes())).collect();
    // Prints each argument as the list of its bytes, as `{:?}` writes it.
    let script =
        r#"for a; do printf '[%s]\n' "$(printf %s "$a" | od -An -v -tu1 | xargs | sed 's/ /, /g')"; done"#;
    let run = case.lock(&[], ["sh", "-c", script, "sh"]).args(&arguments);
    let output = run.run();
    assert_eq!(output.assert_code(0).stdout, expected.join("\n") + "\n");
}

#[test]
fn a_shell_string_may_hold_any_bytes() {
    let case = Case::new("string-bytes");
    let string = OsStr::from_bytes(b"printf '\xff%s' \"a  b\" | od -An -tx1");
    let output = case.zklock().arg(case.path()).arg("-c").arg(string).run();
    assert_eq!(output.assert_code(0).stdout, " ff 61 20 20 62\n");
}

/// The standard library takes this variable for the stack of a thread that is started without a size.
#[test]
fn a_small_stack_in_the_environment_is_for_the_command_only() {
    let case = Case::new("min-stack");
    for stack in ["0", "1", "99999999"] {
        let prints = [case.path(), "sh", "-c", "echo $RUST_MIN_STACK"];
        let output = case.zklock().env("RUST_MIN_STACK", stack).args(prints).run();
        assert_eq!(output.assert_code(0).stdout, format!("{stack}\n"));
        case.zklock().env("RUST_MIN_STACK", stack).args(["status", case.path()]).run().assert_code(0);
    }
}

/// An executable script with this first line, and a second that prints its arguments. Another process writes it: a test
/// that forks meanwhile would keep the file open for writing, and it couldn't be executed.
fn script(case: &Case, name: &str, interpreter: &str) -> PathBuf {
    let (text, script) = (case.dir().join("text"), case.dir().join(name));
    fs::write(&text, format!("#!{interpreter}\necho \"$@\"\n")).expect("a file");
    let installed = Command::new("install").args(["-m", "755"]).args([&text, &script]).status();
    assert!(installed.expect("install").success());
    script
}

#[test]
fn a_script_whose_first_line_is_zklock_with_a_shell_runs_under_the_lock() {
    let case = Case::new("interpreter");
    let zklock = env!("CARGO_BIN_EXE_zklock");
    let line = format!("/usr/bin/env -S {zklock} -z {} {} -- /bin/sh", case.hosts(), case.path());
    let output = Zklock::bare(case.marker()).program(&script(&case, "job", &line)).args(["a", "b"]).run();
    assert_eq!(output.assert_code(0).stdout, "a b\n");
}

#[test]
fn a_lock_s_name_may_have_dots_blanks_and_unicode() {
    let case = Case::new("fine-path");
    for name in ["...", ".hidden", "a.b", "zookeeper", "\u{e4}\u{6f22}", "with space", "-n", "%"] {
        let path = format!("{}-dir/{name}", case.path());
        let output = case.zklock().args([&path, "--", "sh", "-c", "echo $ZKLOCK_PATH"]).run();
        assert_eq!(output.assert_code(0).stdout, format!("{path}\n"));
    }
    let output = case.zklock().arg(OsStr::from_bytes(b"/a\xff")).args(["echo", "ran"]).run();
    output.assert_code(125).assert_stderr("UTF-8");
}

/// The word behind an option is its value, whatever it looks like.
#[test]
fn a_label_may_begin_with_a_dash() {
    let case = Case::new("dash-label");
    let output = case.zklock().args(["--label", "-x", case.path(), "--", "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}
