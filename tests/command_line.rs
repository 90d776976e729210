//! The meaning of the words on the command line: which are locks, which is the command, and that the command arrives as
//! it was typed.
//!
//! A row is one call. To add one, write it below.

use crate::support::{Case, Zklock, try_rows};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

/// What `SHOW` stands for in a call: it prints each of its arguments in brackets, and the lock that is held.
const SHOW: [&str; 4] =
    ["sh", "-c", r#"for a; do printf '[%s]' "$a"; done; echo; echo "$ZKLOCK_PATH""#, "sh"];

/// The words of the call, its exit code, and what it prints.
type Row = (&'static str, i32, &'static str);

/// `PATH` stands for a lock of the case and `~` for a blank inside a word. A call with `[--]` is made with and without the dashes.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("PATH [--] SHOW a b", 0, "[a][b]\nPATH\n"),
    ("PATH /bin/sh -c echo~$0 --", 0, "--\n"),
    ("PATH SHOW log -- file", 0, "[log][--][file]\nPATH\n"),
    ("PATH [--] SHOW -- -n --", 0, "[--][-n][--]\nPATH\n"),
    // Options and subcommands of zklock's behind the command, at its end too.
    ("PATH [--] SHOW -n -v -q", 0, "[-n][-v][-q]\nPATH\n"),
    ("PATH [--] SHOW --help", 0, "[--help]\nPATH\n"),
    ("PATH [--] SHOW --version -z -c --timeout=1", 0, "[--version][-z][-c][--timeout=1]\nPATH\n"),
    ("PATH [--] echo status help", 0, "status help\n"),
    ("PATH [--] echo help status", 0, "help status\n"),
    ("PATH [--] echo help", 0, "help\n"),
    ("PATH [--] echo version -V", 0, "version -V\n"),
    ("PATH [--] echo wait --help", 0, "wait --help\n"),
    ("PATH [--] echo check -h", 0, "check -h\n"),
    ("PATH [--] echo completions --version", 0, "completions --version\n"),
    ("PATH -- help", 127, ""),
    ("PATH -- version", 127, ""),
    ("PATH -- status", 127, ""),
    // A line for the shell.
    ("PATH -c echo~one|tr~o~0;exit~3", 3, "0ne\n"),
    ("PATH --command echo~one|tr~o~0;exit~3", 3, "0ne\n"),
    ("-c echo~one|tr~o~0;exit~3 PATH", 3, "0ne\n"),
    ("--command echo~one|tr~o~0;exit~3 PATH", 3, "0ne\n"),
    ("PATH -c echo~$0", 0, "/bin/sh\n"),
    // The word behind an option is its value, whatever it looks like.
    ("--label -x PATH -- echo ran", 0, "ran\n"),
    // Names.
    ("PATH-dir/... SHOW", 0, "\nPATH-dir/...\n"),
    ("PATH-dir/.hidden SHOW", 0, "\nPATH-dir/.hidden\n"),
    ("PATH-dir/a.b SHOW", 0, "\nPATH-dir/a.b\n"),
    ("PATH-dir/zookeeper SHOW", 0, "\nPATH-dir/zookeeper\n"),
    ("PATH-dir/\u{e4}\u{6f22} SHOW", 0, "\nPATH-dir/\u{e4}\u{6f22}\n"),
    ("PATH-dir/with~space SHOW", 0, "\nPATH-dir/with space\n"),
    ("PATH-dir/-n SHOW", 0, "\nPATH-dir/-n\n"),
    ("PATH-dir/% SHOW", 0, "\nPATH-dir/%\n"),
];

#[test]
fn each_word_is_a_lock_an_option_or_the_command_s() {
    try_rows(ROWS.iter().copied(), try_row);
}

fn try_row((line, code, prints): Row) {
    let case = Case::new("words");
    for dashes in ["--", ""] {
        let line = line.replace("[--]", dashes);
        let words = line.split(' ').filter(|word| !word.is_empty()).flat_map(|word| match word {
            "SHOW" => SHOW.map(str::to_owned).to_vec(),
            _ => vec![word.replace('~', " ").replace("PATH", case.path())],
        });
        let output = case.zklock().args(words).run();
        assert_eq!(output.assert_code(code).stdout, prints.replace("PATH", case.path()), "{line}");
        assert_eq!(output.stderr.is_empty(), code != 127, "{line}: {output}");
    }
}

#[test]
fn several_paths_end_at_the_dashes_or_stand_behind_a_shell_line() {
    let case = Case::new("several");
    let path = case.path();
    let other = format!("{path}-other");
    let other = other.as_str();
    let script = "echo $ZKLOCK_PATH; echo $ZKLOCK_LOCKS";
    for words in [&[other, path, "--", "sh", "-c", script][..], &["-c", script, other, path]] {
        let output = case.zklock().args(words).run();
        let (first, locks) = output.assert_code(0).stdout.split_once('\n').unwrap();
        assert_eq!(first, other, "the single variables speak of the first on the command line");
        let locks: serde_json::Value = serde_json::from_str(locks).unwrap();
        let mut held: Vec<_> = locks.as_array().unwrap().iter().map(|lock| lock["path"].as_str()).collect();
        held.sort_unstable();
        assert_eq!(held, [Some(path), Some(other)]);
    }
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
