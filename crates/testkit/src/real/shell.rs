//! An interactive shell in a terminal, like an operator's.

use super::pty::Terminal;
use super::wait::{DEADLINE, wait_until};
use super::zklock::{MARKER, zklock_binary};
use super::{Case, skip};
use nix::unistd::Pid;
use pty_process::blocking::Command;
use std::fs;
use std::time::Duration;

const PROMPT: &str = "ready$ ";

/// The command lines of shells that read no files of the user, and write no more than what is typed and printed.
const SHELLS: [&[&str]; 5] = [
    &["bash", "--norc", "--noprofile", "--noediting", "-i"],
    &["dash", "-i"],
    &["zsh", "-f", "-i", "+Z", "+o", "promptsp"],
    &["ksh", "-i"],
    &["fish", "-i"],
];

/// An interactive shell with job control. `$zklock` is the program under test, and `$lock` the case's lock.
pub struct Shell {
    terminal: Terminal,
    name: &'static str,
}

impl Shell {
    /// The shells that are installed. If one isn't, that counts as skipped.
    pub fn installed() -> Vec<&'static str> {
        let is_there = |name: &&str| {
            let there = std::process::Command::new(name).args(["-c", "true"]).status().is_ok();
            if !there {
                skip(&format!("there is no {name}"));
            }
            there
        };
        SHELLS.iter().map(|words| words[0]).filter(is_there).collect()
    }

    /// Starts a shell for the case, and waits for its prompt.
    #[track_caller]
    pub fn start(name: &str, case: &Case) -> Self {
        let words = SHELLS.iter().find(|words| words[0] == name).expect("a shell");
        let home = case.dir().join("home");
        // Without it, fish starts a process that fills it.
        fs::create_dir_all(home.join("fish/generated_completions")).expect("a directory");
        let config = format!("function fish_prompt; echo -n '{PROMPT}'; end; set -g fish_greeting\n");
        fs::write(home.join("fish/config.fish"), config + "set -g fish_autosuggestion_enabled 0\n")
            .expect("a file");
        let command = Command::new(words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("XDG_DATA_HOME", &home)
            .env("ENV", "")
            .env("HISTFILE", "")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "dumb")
            .env("PS1", PROMPT)
            .env("zklock", zklock_binary())
            .env("ZKLOCK_ZOOKEEPER", case.hosts())
            .env("lock", case.path())
            .env(MARKER, case.marker());
        let mut shell = Self { terminal: Terminal::spawn(command), name: words[0] };
        shell.terminal.expect(PROMPT, DEADLINE);
        shell
    }

    /// Types a line. Returns when it has been echoed, so that `expect` sees only the output; other shells than bash may echo it
    /// in their own way.
    #[track_caller]
    pub fn enter(&mut self, line: &str, within: Duration) {
        self.terminal.send(format!("{line}\n").as_bytes());
        if self.name == "bash" {
            self.terminal.expect(&format!("{line}\r\n"), within);
        }
    }

    /// Waits for the prompt, and returns what was written before it.
    #[track_caller]
    pub fn prompt(&mut self, within: Duration) -> String {
        let before = self.terminal.expect(PROMPT, within);
        before.replace("\r\n", "\n")
    }

    /// Runs a line to its end and returns its output.
    #[track_caller]
    pub fn run(&mut self, line: &str, within: Duration) -> String {
        self.enter(line, within);
        self.prompt(within)
    }

    /// Types `fg`, and returns when another process group than the shell's is in the foreground.
    #[track_caller]
    pub fn fg(&mut self) {
        self.enter("fg", DEADLINE);
        wait_until("the job in the foreground", DEADLINE, || self.foreground() != self.pid());
    }

    /// The foreground process group of the terminal.
    #[track_caller]
    pub fn foreground(&self) -> Pid {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("the shell");
        // The fields after the name in parentheses are state, parent, group, session, terminal and foreground group.
        let group = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(5));
        Pid::from_raw(group.and_then(|group| group.parse().ok()).expect("a number"))
    }

    /// The exit code of the previous line, as the shell reports it.
    #[track_caller]
    pub fn code(&mut self, within: Duration) -> i32 {
        let status = if self.name == "fish" { "$status" } else { "$?" };
        // What is typed must not look like the answer.
        self.enter(&format!("echo co''de={status}="), within);
        self.terminal.expect("code=", within);
        let code = self.terminal.expect("=", within);
        self.prompt(within);
        code.parse().unwrap_or_else(|error| panic!("{error}: {code:?}"))
    }

    pub fn name(&self) -> &str {
        self.name
    }

    /// The shell's terminal, for typing keys and expecting text.
    pub fn terminal(&mut self) -> &mut Terminal {
        &mut self.terminal
    }

    pub fn pid(&self) -> Pid {
        self.terminal.pid()
    }
}
