//! An interactive shell in a terminal, like an operator's.

use super::pty::Terminal;
use super::wait::{DEADLINE, wait_until};
use super::zklock::{MARKER, home};
use nix::unistd::Pid;
use pty_process::blocking::Command;
use std::fs;
use std::time::Duration;

const PROMPT: &str = "ready$ ";

/// `bash -i` with job control; `$zklock` is the program under test.
pub(crate) struct Shell {
    terminal: Terminal,
}

impl Shell {
    /// Starts a shell with `-z` preset by `ZKLOCK_ZOOKEEPER`, and waits for its prompt.
    pub(crate) fn start(hosts: &str, marker: &str, within: Duration) -> Self {
        let command = Command::new("bash")
            // Without line editing the screen is plain text.
            .args(["--norc", "--noprofile", "--noediting", "-i"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home())
            .env("HISTFILE", "")
            .env("TERM", "dumb")
            .env("PS1", PROMPT)
            .env("zklock", env!("CARGO_BIN_EXE_zklock"))
            .env("ZKLOCK_ZOOKEEPER", hosts)
            .env(MARKER, marker);
        let mut shell = Self { terminal: Terminal::spawn(command) };
        shell.terminal.expect(PROMPT, within);
        shell
    }

    /// Types a line and returns when it has been echoed, so that `expect` sees only the output.
    #[track_caller]
    pub(crate) fn enter(&mut self, line: &str, within: Duration) {
        self.terminal.send(format!("{line}\n").as_bytes());
        self.terminal.expect(&format!("{line}\r\n"), within);
    }

    /// Waits for the prompt, and returns what was written before it.
    #[track_caller]
    pub(crate) fn prompt(&mut self, within: Duration) -> String {
        let before = self.terminal.expect(PROMPT, within);
        before.replace("\r\n", "\n")
    }

    /// Runs a line to its end and returns its output.
    #[track_caller]
    pub(crate) fn run(&mut self, line: &str, within: Duration) -> String {
        self.enter(line, within);
        self.prompt(within)
    }

    /// Types `fg`, and returns when another process group than the shell's is in the foreground.
    #[track_caller]
    pub(crate) fn fg(&mut self) {
        self.enter("fg", DEADLINE);
        wait_until("the job in the foreground", DEADLINE, || self.foreground() != self.pid());
    }

    /// The foreground process group of the terminal.
    #[track_caller]
    pub(crate) fn foreground(&self) -> Pid {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("the shell");
        // The fields after the name in parentheses are state, parent, group, session, terminal and foreground group.
        let group = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(5));
        Pid::from_raw(group.and_then(|group| group.parse().ok()).expect("a number"))
    }

    /// The exit code of the previous line, as the shell reports it.
    #[track_caller]
    pub(crate) fn code(&mut self, within: Duration) -> i32 {
        let said = self.run("echo $?", within);
        said.trim().parse().expect("an exit code")
    }

    /// The shell's terminal, for typing keys and expecting text.
    pub(crate) fn terminal(&mut self) -> &mut Terminal {
        &mut self.terminal
    }

    pub(crate) fn pid(&self) -> Pid {
        self.terminal.pid()
    }
}
