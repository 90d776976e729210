//! zklock typed at the prompt of ksh, fish, zsh and dash, and in their scripts.

use crate::support::{Case, DEADLINE, MARKER, Terminal, skip, wait_until};
use pty_process::blocking::Command;
use std::fs;

const PROMPT: &str = "READY> ";

const SHELLS: [&str; 4] = ["ksh", "fish", "zsh", "dash"];

/// A shell at its prompt.
struct Interactive {
    terminal: Terminal,
    status: &'static str,
}

impl Interactive {
    /// `None` if the shell isn't installed.
    fn start(case: &Case, shell: &str) -> Option<Self> {
        if !is_installed(shell) {
            return None;
        }
        let dir = case.dir().join(shell);
        fs::create_dir_all(dir.join("fish")).expect("a directory");
        let config = format!(
            "function fish_prompt; echo -n '{PROMPT}'; end; set -g fish_greeting; set -g fish_autosuggestion_enabled 0\n"
        );
        fs::write(dir.join("fish/config.fish"), config).expect("a file");
        let (arguments, status) = match shell {
            "fish" => (&["-i"][..], "$status"),
            "zsh" => (&["-f", "-i", "+Z", "+o", "promptsp"][..], "$?"),
            _ => (&["-i"][..], "$?"),
        };
        let command = Command::new(shell)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &dir)
            .env("XDG_CONFIG_HOME", &dir)
            .env("XDG_DATA_HOME", &dir)
            .env("TERM", "dumb")
            .env("LC_ALL", "C.UTF-8")
            .env("PS1", PROMPT)
            .env("zklock", env!("CARGO_BIN_EXE_zklock"))
            .env("ZKLOCK_ZOOKEEPER", case.hosts())
            .env("lock", case.path())
            .env(MARKER, case.marker())
            .current_dir(&dir);
        let mut shell = Self { terminal: Terminal::spawn(command), status };
        shell.terminal.expect(PROMPT, DEADLINE);
        Some(shell)
    }

    /// Types a line whose output isn't part of it.
    fn enter(&self, line: &str) {
        self.terminal.send(format!("{line}\n").as_bytes());
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        self.terminal.expect(text, DEADLINE);
    }

    /// Whether the shell's own process group is in the foreground.
    fn has_terminal(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.terminal.pid())).expect("the shell");
        // The fields after the name in parentheses are state, parent, group, session, terminal and foreground group.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        fields[2] == fields[5]
    }

    /// The exit code of the last line, at a new prompt.
    #[track_caller]
    fn code(&mut self) -> i32 {
        // What is typed is shown, too, and must not look like the answer.
        self.enter(&format!("echo co''de={}=", self.status));
        self.expect("code=");
        let code = self.terminal.expect("=", DEADLINE);
        code.parse().unwrap_or_else(|error| panic!("{error}: {code:?}"))
    }
}

fn is_installed(shell: &str) -> bool {
    let there = std::process::Command::new(shell).args(["-c", "true"]).status().is_ok();
    if !there {
        skip(&format!("there is no {shell}"));
    }
    there
}

#[test]
fn a_script_sees_codes_and_passes_input() {
    let case = Case::new("shell-scripts");
    for shell in SHELLS.into_iter().filter(|shell| is_installed(shell)) {
        let status = if shell == "fish" { "$status" } else { "$?" };
        let lock = format!("{} -z {} {}", env!("CARGO_BIN_EXE_zklock"), case.hosts(), case.path());
        let script = format!(
            "{lock} -- sh -c 'exit 3'; echo {status}; echo in | {lock} -- cat | tr a-z A-Z; \
             {lock} -- sh -c 'exit 4' & wait; {lock} -c 'kill -TERM $$'; echo {status}"
        );
        let run = case
            .lock(&[], ["false"])
            .env("SCRIPT", &script)
            .prelude(&format!("exec {shell} -c \"$SCRIPT\""))
            .run();
        // ksh adds 256 to the number of a signal.
        let killed = if shell == "ksh" { 256 + 15 } else { 128 + 15 };
        assert_eq!(run.stdout, format!("3\nIN\n{killed}\n"), "{shell}: {run}");
        assert_eq!(case.contenders(), [""; 0], "{shell}");
    }
}

#[test]
fn ctrl_c_ctrl_z_and_fg_work_at_the_prompt() {
    let case = Case::new("shell-keys");
    for name in SHELLS {
        let Some(mut shell) = Interactive::start(&case, name) else { continue };
        shell.enter("$zklock $lock -- sh -c 'exit 3'");
        shell.expect(PROMPT);
        assert_eq!(shell.code(), 3, "{name}: {}", shell.terminal.text());
        shell.enter("$zklock $lock -- sh -c 'echo u''p; exec sleep 60'");
        shell.expect("up\r\n");
        shell.terminal.send(b"\x03");
        shell.expect(PROMPT);
        let killed = if name == "ksh" { 256 + 2 } else { 128 + 2 };
        assert_eq!(shell.code(), killed, "{name}: {}", shell.terminal.text());
        assert_eq!(case.contenders(), [""; 0], "{name}");

        shell.enter("$zklock $lock -- sh -c 'echo u''p; read -r line; echo \"go''t $line\"; exit 5'");
        shell.expect("up\r\n");
        shell.terminal.send(b"\x1a");
        shell.expect("continues it");
        shell.expect(PROMPT);
        assert_eq!(case.contenders().len(), 1, "{name}");
        shell.enter("fg");
        wait_until("zklock in the foreground", DEADLINE, || !shell.has_terminal());
        shell.enter("typed");
        shell.expect("got typed");
        shell.expect(PROMPT);
        shell.enter("exit");
        shell.terminal.wait(DEADLINE);
        assert_eq!(case.contenders(), [""; 0], "{name}");
    }
}
