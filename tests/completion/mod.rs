//! Completions in the real shells.

mod shells;

use self::shells::Completing;
use crate::support::{Case, Shell, Zklock, end, try_rows};
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Subcommands, options, values and files; the command behind the path; lock paths.
#[test]
fn each_shell_completes_words_commands_and_locks() {
    let completing = ["bash", "zsh", "fish"];
    try_rows(Shell::installed().into_iter().filter(|name| completing.contains(name)), completes);
}

fn completes(name: &str) {
    let case = Case::new("completed");
    // Created first, because a running shell doesn't look for new programs.
    let dir = case.dir().join(name).join("bin");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("only-this-command"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(dir.join("only-this-command"), Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.with_file_name("input-file"), "").unwrap();
    let holder = case.holder();
    let mut shell = Completing::start(&case, name);
    for (typed, completed) in [
        ("zklock sta", "zklock status "),
        ("zklock -n forg", "zklock -n forget "),
        ("zklock status --rec", "zklock status --recursive "),
        ("zklock wait --time", "zklock wait --timeout "),
        ("zklock -z a:1,b:2 --slo", "zklock -z a:1,b:2 --slots "),
        ("zklock --naming kaz", "zklock --naming kazoo "),
        ("zklock completions fi", "zklock completions fish "),
        ("zklock --config input-f", "zklock --config input-file "),
        ("zklock /a only-this-c", "zklock /a only-this-command "),
        ("zklock -w 5 /a -- only-this-c", "zklock -w 5 /a -- only-this-command "),
        ("zklock /a /b -- only-this-c", "zklock /a /b -- only-this-command "),
        ("zklock /a cat -n input-f", "zklock /a cat -n input-file "),
    ] {
        assert_eq!(shell.completed(typed), completed);
    }
    let path = case.path();
    let typed = &path[..path.len() - 2];
    for before in ["zklock -n", "zklock status", "zklock wait -w 5", "zklock revoke", "zklock /a"] {
        assert_eq!(shell.completed(&format!("{before} {typed}")), format!("{before} {path} "));
    }
    let above = format!("{path}-{name}");
    case.observer().mkdirs(&format!("{above}/.only-a-record.zklock-last"));
    let line = format!("zklock forget {above}/only-a");
    assert_eq!(shell.completed(&line), format!("{line}-record "));
    end(holder);
}

/// What a completion script asks, of a server where nothing listens and of one where nothing answers.
#[test]
fn without_servers_a_lock_path_is_soon_left_as_it_is_without_a_message() {
    let case = Case::new("completion-answer");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for hosts in ["127.0.0.1:1", &silent.local_addr().unwrap().to_string()] {
        let begun = Instant::now();
        let asked = Zklock::bare(case.marker()).env("ZKLOCK_COMPLETE", "fish");
        let output = asked.args(["--", "zklock", "-z", hosts, "/"]).run();
        assert_eq!((output.assert_code(0).stdout.as_str(), output.stderr.as_str()), ("", ""));
        // Other calls try for this long.
        assert!(begun.elapsed() < Duration::from_secs(10), "{hosts}");
    }
}

#[test]
fn a_wrong_configuration_leaves_the_completions_without_a_message() {
    let case = Case::new("completion-config");
    let asked =
        Zklock::bare(case.marker()).env("ZKLOCK_COMPLETE", "fish").env("ZKLOCK_CONFIG", "/no/such/file");
    let output = asked.args(["--", "zklock", "sta"]).run();
    assert!(output.assert_code(0).stdout.starts_with("status\t"), "{output}");
    assert_eq!(output.stderr, "");
}
