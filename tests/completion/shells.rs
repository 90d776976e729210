//! Interactive shells that complete what is typed.

use crate::support::{Case, DEADLINE, MARKER, Terminal, wait_for};
use pty_process::blocking::Command;
use std::fs;
use std::path::{Path, PathBuf};

const PROMPT: &str = "READY> ";

/// The key that writes the line being edited to a file.
const SHOW: &[u8] = b"\x07";

/// A shell in which Tab completes and Ctrl-G writes the line to a file.
pub(super) struct Completing {
    terminal: Terminal,
    shown: PathBuf,
}

impl Completing {
    /// Starts `shell` with the completions that zklock prints.
    pub(super) fn start(case: &Case, shell: &str) -> Self {
        let dir = case.dir().join(shell);
        let shown = dir.join("shown");
        let script = case.zklock().args(["completions", shell]).run().assert_code(0).stdout.clone();
        let (file, setup, arguments) = match shell {
            "bash" => {
                ("completions/zklock.bash", bash(&dir, &shown), vec!["--noprofile", "--rcfile", "rc", "-i"])
            }
            "zsh" => ("completions/_zklock", zsh(&dir, &shown), vec!["-d", "-i"]),
            _ => ("fish/completions/zklock.fish", fish(&shown), vec!["-i"]),
        };
        let rc = ["rc", ".zshrc", "fish/config.fish"].map(|name| dir.join(name));
        for path in [&dir.join(file), &rc[2]] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(dir.join(file), script).unwrap();
        for rc in &rc {
            fs::write(rc, &setup).unwrap();
        }
        // If the second directory exists, fish doesn't generate completions from all manual pages.
        for name in ["bin", "fish/generated_completions"] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_zklock"), dir.join("bin/zklock")).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let command = Command::new(shell)
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:{path}", dir.join("bin").display()))
            .env("HOME", &dir)
            .env("ZDOTDIR", &dir)
            .env("XDG_CONFIG_HOME", &dir)
            .env("XDG_DATA_HOME", &dir)
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8")
            .env("ZKLOCK_ZOOKEEPER", case.hosts())
            .env(MARKER, case.marker())
            .current_dir(&dir);
        let mut terminal = Terminal::spawn(command);
        terminal.expect(PROMPT, DEADLINE);
        Self { terminal, shown }
    }

    /// Types the text and a Tab, and returns the completed line.
    #[track_caller]
    pub(super) fn completed(&mut self, typed: &str) -> String {
        fs::remove_file(&self.shown).ok();
        self.terminal.send(typed.as_bytes());
        self.terminal.send(b"\t");
        self.terminal.send(SHOW);
        let line = wait_for(&format!("{typed:?} completed on:\n{}", self.terminal.text()), DEADLINE, || {
            fs::read_to_string(&self.shown).ok().filter(|text| text.ends_with('\n'))
        });
        // Ctrl-U empties the line for the next one.
        self.terminal.send(b"\x15");
        line.trim_end_matches('\n').to_owned()
    }
}

fn bash(dir: &Path, shown: &Path) -> String {
    format!(
        "PS1='{PROMPT}'; PS2=; HISTFILE=\n\
         if [[ -e /usr/share/bash-completion/bash_completion ]]; then . /usr/share/bash-completion/bash_completion; fi\n\
         . '{}/completions/zklock.bash'\n\
         bind -x '\"\\C-g\": printf \"%s\\n\" \"$READLINE_LINE\" >\"{shown}.new\"; mv \"{shown}.new\" \"{shown}\"'\n",
        dir.display(),
        shown = shown.display(),
    )
}

fn zsh(dir: &Path, shown: &Path) -> String {
    format!(
        "PROMPT='{PROMPT}'; unset zle_bracketed_paste; setopt no_beep\n\
         fpath=('{}/completions' $fpath); autoload -Uz compinit; compinit -u -D\n\
         show() {{ print -r -- \"$BUFFER\" >'{shown}.new'; mv '{shown}.new' '{shown}' }}\n\
         zle -N show; bindkey -e; bindkey '^G' show; bindkey '^U' kill-whole-line\n",
        dir.display(),
        shown = shown.display(),
    )
}

fn fish(shown: &Path) -> String {
    format!(
        "function fish_prompt; echo -n '{PROMPT}'; end; set -g fish_greeting; set -g fish_autosuggestion_enabled 0\n\
         function show; commandline >'{shown}.new'; mv '{shown}.new' '{shown}'; end\n\
         bind \\cg show; bind \\cu 'commandline \"\"'\n",
        shown = shown.display(),
    )
}
