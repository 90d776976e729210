//! Completions in the real shells.

mod shells;

use self::shells::Completing;
use crate::support::{Case, DEADLINE, Zklock};
use nix::sys::signal::Signal;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Checks the completed line after a Tab, for each typed text.
#[track_caller]
fn assert_completed(shell: &mut Completing, name: &str, lines: &[(&str, &str)]) {
    for (typed, completed) in lines {
        assert_eq!(shell.completed(typed), *completed, "{name}");
    }
}

fn subcommands_options_and_values(name: &str) {
    let case = Case::new("completed-words");
    let Some(mut shell) = Completing::start(&case, name) else { return };
    assert_completed(
        &mut shell,
        name,
        &[
            ("zklock sta", "zklock status "),
            ("zklock -n forg", "zklock -n forget "),
            ("zklock status --rec", "zklock status --recursive "),
            ("zklock revoke --fo", "zklock revoke --force "),
            ("zklock wai", "zklock wait "),
            ("zklock wait --time", "zklock wait --timeout "),
            ("zklock -z a:1,b:2 --slo", "zklock -z a:1,b:2 --slots "),
            ("zklock --naming kaz", "zklock --naming kazoo "),
            ("zklock --naming=kaz", "zklock --naming=kazoo "),
            ("zklock --single-c", "zklock --single-child "),
            ("zklock completions fi", "zklock completions fish "),
        ],
    );
}

fn commands_behind_the_path(name: &str) {
    let case = Case::new("completed-commands");
    // Created first, because a running shell doesn't look for new programs.
    let dir = case.dir().join(name).join("bin");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("only-this-command"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(dir.join("only-this-command"), Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.with_file_name("input-file"), "").unwrap();
    let Some(mut shell) = Completing::start(&case, name) else { return };
    assert_completed(
        &mut shell,
        name,
        &[
            ("zklock /a only-this-c", "zklock /a only-this-command "),
            ("zklock -z h:1 -w 5 /a -- only-this-c", "zklock -z h:1 -w 5 /a -- only-this-command "),
            ("zklock /a /b -- only-this-c", "zklock /a /b -- only-this-command "),
            ("zklock -z h:1 /a cat input-f", "zklock -z h:1 /a cat input-file "),
            ("zklock --config input-f", "zklock --config input-file "),
            ("zklock --config=input-f", "zklock --config=input-file "),
        ],
    );
    if name == "bash" {
        // This simulates a system without the package bash-completion.
        shell.run("unset -f _command_offset _comp_command_offset");
        assert_completed(
            &mut shell,
            name,
            &[
                ("zklock -z h:1 /a only-this-c", "zklock -z h:1 /a only-this-command "),
                ("zklock -z h:1 /a cat input-f", "zklock -z h:1 /a cat input-file "),
            ],
        );
    }
}

fn lock_paths(name: &str) {
    let case = Case::new("completed-locks");
    let holder = case.holder();
    let above = format!("{}-above", case.path());
    let below = format!("{above}/below");
    let other = case.zklock().args([&below, "-c", "echo held; exec sleep 60"]).spawn();
    other.wait_for_stdout("held", DEADLINE);
    let spaced = format!("{} spaced", case.path());
    let spaced = case.zklock().args([&spaced, "-c", "echo held; exec sleep 60"]).spawn();
    spaced.wait_for_stdout("held", DEADLINE);
    if let Some(mut shell) = Completing::start(&case, name) {
        assert_completed(
            &mut shell,
            name,
            &[
                (&format!("zklock -n {above}/be"), &format!("zklock -n {below} ")),
                (&format!("zklock status {}-abo", case.path()), &format!("zklock status {above}/")),
                (&format!("zklock wait -w 5 {above}/be"), &format!("zklock wait -w 5 {below} ")),
                (&format!("zklock revoke {above}/"), &format!("zklock revoke {below} ")),
            ],
        );
        assert_completed(
            &mut shell,
            name,
            &[
                (
                    &format!("zklock status {}\\ ", case.path()),
                    &format!("zklock status {}\\ spaced ", case.path()),
                ),
                (
                    &format!("zklock status '{} s", case.path()),
                    &format!("zklock status '{} spaced' ", case.path()),
                ),
                (
                    &format!("zklock -z '{}' revoke {above}/be", case.hosts()),
                    &format!("zklock -z '{}' revoke {below} ", case.hosts()),
                ),
            ],
        );
        // One path is the beginning of the other.
        let line = shell.completed(&format!("zklock -n {}", case.path().trim_end_matches(|c| c != '-')));
        assert_eq!(line, format!("zklock -n {}", case.path()));
    }
    for running in [holder, other, spaced] {
        running.signal(Signal::SIGTERM);
        running.wait(DEADLINE);
    }
}

fn no_servers(name: &str) {
    let case = Case::new("completed-alone");
    let Some(mut shell) = Completing::start_with(&case, name, "127.0.0.1:1") else { return };
    let begun = Instant::now();
    assert_completed(
        &mut shell,
        name,
        &[("zklock -n /no-such", "zklock -n /no-such"), ("zklock sta", "zklock status ")],
    );
    assert!(begun.elapsed() < DEADLINE);
}

#[test]
fn bash_completes_subcommands_options_and_values() {
    subcommands_options_and_values("bash");
}

#[test]
fn zsh_completes_subcommands_options_and_values() {
    subcommands_options_and_values("zsh");
}

#[test]
fn fish_completes_subcommands_options_and_values() {
    subcommands_options_and_values("fish");
}

#[test]
fn bash_completes_the_command_behind_the_path() {
    commands_behind_the_path("bash");
}

#[test]
fn zsh_completes_the_command_behind_the_path() {
    commands_behind_the_path("zsh");
}

#[test]
fn fish_completes_the_command_behind_the_path() {
    commands_behind_the_path("fish");
}

#[test]
fn bash_completes_lock_paths_from_the_servers() {
    lock_paths("bash");
}

#[test]
fn zsh_completes_lock_paths_from_the_servers() {
    lock_paths("zsh");
}

#[test]
fn fish_completes_lock_paths_from_the_servers() {
    lock_paths("fish");
}

#[test]
fn without_servers_the_shells_complete_all_else_silently() {
    for name in SHELLS {
        no_servers(name);
    }
}

/// The request of the completion scripts, to a server where nothing listens and to one where nothing answers.
#[test]
fn a_question_without_servers_is_answered_soon_and_without_a_message() {
    let case = Case::new("completion-answer");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for hosts in ["127.0.0.1:1", &silent.local_addr().unwrap().to_string()] {
        let begun = Instant::now();
        let output = Zklock::bare(case.marker()).args(["__complete", "zklock", "-z", hosts, "/"]).run();
        assert_eq!((output.assert_code(0).stdout.as_str(), output.stderr.as_str()), ("nothing\n", ""));
        // Other calls try for this long.
        assert!(begun.elapsed() < Duration::from_secs(10), "{hosts}");
    }
}

#[test]
fn a_wrong_configuration_leaves_the_completions_without_a_message() {
    let case = Case::new("completion-config");
    let output = Zklock::bare(case.marker())
        .env("ZKLOCK_CONFIG", "/no/such/file")
        .env("ZKLOCK_ZOOKEEPER", "a;b")
        .args(["__complete", "zklock", "sta"])
        .run();
    assert!(output.assert_code(0).stdout.starts_with("nothing\nstatus\t"), "{output}");
    assert_eq!(output.stderr, "");
}
