//! Ctrl-Z and `fg` in quick succession, in each shell that is installed.

use super::{CTRL_Z, SHORT, script};
use crate::support::{Case, DEADLINE, MARKER, Terminal, wait_until};
use pty_process::blocking::Command;
use std::path::Path;

const PROMPT: &str = "ready> ";

/// A shell with job control in a terminal.
fn start(case: &Case, words: &[&str]) -> Terminal {
    let command = Command::new(words[0])
        .args(&words[1..])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", case.dir())
        .env("ENV", "")
        .env("HISTFILE", "")
        .env("TERM", "dumb")
        .env("PS1", PROMPT)
        .env("zklock", env!("CARGO_BIN_EXE_zklock"))
        .env("ZKLOCK_ZOOKEEPER", case.hosts())
        .env(MARKER, case.marker());
    Terminal::spawn(command)
}

/// Checks that in each round Ctrl-Z stops the command and `fg` continues it.
#[track_caller]
fn assert_rounds(words: &[&str], pipeline: &str) {
    let case = Case::new("rounds");
    let history = case.history();
    let job = script(&case, "job.sh", &format!("{}; exit 6", history.steady_job("only")));
    let mut terminal = start(&case, words);
    terminal.expect(PROMPT, DEADLINE);
    terminal.send(b"set -m; stty -echo\n");
    terminal.expect(PROMPT, DEADLINE);
    terminal.send(format!("$zklock {SHORT} {} bash {job}{pipeline}\n", case.path()).as_bytes());
    wait_until("it to run", DEADLINE, || history.sections().unwrap().len() == 1);
    if !pipeline.is_empty() {
        // A shell ignores the key. So does the process that it forks for the other end, until that process runs its
        // program.
        terminal.expect("other end", DEADLINE);
    }
    let node = case.contenders();
    for round in 1..=25 {
        let last = history.sections().unwrap()[0].last;
        let goes_on = || history.sections().unwrap()[0].last > last;
        let went_on = crate::support::try_for(DEADLINE, || goes_on().then_some(()));
        assert!(went_on.is_some(), "round {round}: it stands: {}", terminal.text());
        terminal.send(CTRL_Z);
        terminal.expect(PROMPT, DEADLINE);
        terminal.send(b"fg\n");
    }
    assert_eq!(case.contenders(), node, "the lock was kept all the time");
    history.finish("only");
    terminal.expect(PROMPT, DEADLINE);
    if pipeline.is_empty() {
        terminal.send(b"echo code $?\n");
        terminal.expect("code 6", DEADLINE);
    }
    terminal.send(b"exit\n");
    terminal.wait(DEADLINE);
    assert_eq!(history.sections().unwrap().len(), 1);
}

/// The command lines of shells that read no files of the user.
fn shells() -> Vec<Vec<&'static str>> {
    let mut shells = vec![vec!["bash", "--norc", "--noprofile", "--noediting", "-i"], vec!["dash", "-i"]];
    if Path::new("/usr/bin/zsh").exists() || Path::new("/bin/zsh").exists() {
        shells.push(vec!["zsh", "-f", "+Z", "-i"]);
    }
    shells
}

#[test]
fn the_command_goes_on_after_each() {
    for shell in shells() {
        assert_rounds(&shell, "");
    }
}

#[test]
fn a_pipeline_continues_after_each() {
    for shell in shells() {
        assert_rounds(&shell, " | sh -c 'echo other end >&2; exec cat'");
    }
}
