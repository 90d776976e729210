//! A systemd of the test's own: a manager of a user with a journal, in namespaces, with no other units than the test's.

use super::case::Case;
use super::inspect::children_of;
use super::namespace::unshare;
use super::skip::skip;
use super::spawn::spawn;
use super::wait::{DEADLINE, try_for, wait_until};
use super::zklock::{MARKER, zklock_binary};
use nix::unistd::{Pid, geteuid};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Targets that units name, and which have nothing to do here.
const TARGETS: [&str; 6] = ["basic", "default", "network-online", "shutdown", "sockets", "timers"];

/// A running systemd. It ends with everything in it when this value is dropped.
pub struct Systemd<'a> {
    case: &'a Case,
    host: Child,
    /// The first process in its namespaces.
    init: Pid,
}

impl<'a> Systemd<'a> {
    /// Starts systemd in the case's directory. `None` if that isn't possible here.
    pub fn start(case: &'a Case) -> Option<Self> {
        let dir = case.dir();
        if !Path::new("/lib/systemd/systemd-journald").exists() {
            skip("systemd isn't installed");
            return None;
        }
        fs::create_dir_all(dir.join("units")).expect("a directory");
        fs::create_dir_all(dir.join("opt")).expect("a directory");
        for target in TARGETS {
            fs::write(dir.join(format!("units/{target}.target")), "[Unit]\n").expect("a file");
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/systemd.sh");
        let words = unshare("--mount --propagation private --cgroup");
        let words: Vec<&str> = words.split(' ').chain(["sh", script]).collect();
        let log = fs::File::create(dir.join("host.log")).expect("a file");
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(dir).arg(zklock_binary());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        let mut host = spawn(&mut command);
        let is_up = try_for(DEADLINE, || {
            let has_ended = host.try_wait().expect("our child").is_some();
            let is_listening = dir.join("run/systemd/private").exists();
            (has_ended || is_listening).then_some(is_listening)
        });
        if is_up != Some(true) {
            let log = fs::read_to_string(dir.join("host.log")).unwrap_or_default();
            // As a user without a cgroup of its own, or in a container without privileges.
            assert!(is_up.is_some() && !log.is_empty(), "systemd hangs: {log}");
            skip(&format!("no systemd can be started: {}", log.lines().next().unwrap_or_default()));
            return None;
        }
        let pid = fs::read_to_string(dir.join("pid")).expect("a number").trim().parse().expect("a number");
        let init = children_of(Pid::from_raw(pid)).first().expect("a first process").0;
        let systemd = Self { case, host, init };
        systemd.ctl(&["set-environment", &format!("{MARKER}={}", case.marker())]);
        Some(systemd)
    }

    /// Adds or replaces a file of a unit, which may be a drop-in, `NAME.d/FILE`.
    pub fn unit(&self, name: &str, text: &str) -> &Self {
        let path = self.case.dir().join("units").join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
        self
    }

    /// Puts a program into `/opt`.
    pub fn program(&self, name: &str, script: &str) -> &Self {
        let path = self.case.dir().join("opt").join(name);
        fs::write(&path, script).expect("a file");
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a mode");
        self
    }

    /// Runs a program in systemd's namespaces, and returns what it prints.
    #[track_caller]
    pub fn run(&self, words: &[&str]) -> String {
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &self.init.to_string(), "--mount", "--pid"]);
        if !geteuid().is_root() {
            enter.args(["--user", "--preserve-credentials"]);
        }
        enter.args(words).env("XDG_RUNTIME_DIR", self.case.dir().join("run")).stdin(Stdio::null());
        let output = enter.output().expect("nsenter");
        assert!(output.status.success(), "{words:?}: {output:?}\n{}", self.told());
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs `systemctl`, which must succeed.
    #[track_caller]
    pub fn ctl(&self, words: &[&str]) -> String {
        self.run(&[&["systemctl", "--user"], words].concat())
    }

    /// A property of a unit.
    #[track_caller]
    pub fn show(&self, unit: &str, property: &str) -> String {
        self.ctl(&["show", "--value", "--property", property, unit]).trim().to_owned()
    }

    /// Waits until a property of a unit contains this text, and returns its value.
    #[track_caller]
    pub fn wait_for(&self, unit: &str, property: &str, text: &str) -> String {
        let mut value = String::new();
        let has_come = try_for(DEADLINE, || {
            value = self.show(unit, property);
            value.contains(text).then_some(())
        });
        assert!(has_come.is_some(), "{unit}: {property}={value}, not {text}\n{}", self.told());
        value
    }

    /// The journal of the units: the text of each message. What a unit runs has the name of its first program there,
    /// whichever writes.
    pub fn journal(&self) -> Vec<String> {
        let text = self.journalctl(&["--output", "cat", "--identifier", "zklock"]);
        text.lines().map(str::to_owned).collect()
    }

    fn journalctl(&self, words: &[&str]) -> String {
        let mut command = Command::new("journalctl");
        command.arg("--directory").arg(self.case.dir().join("journal")).args(words);
        let output = command.output().expect("journalctl");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What systemd and the units have said, for a test that fails.
    fn told(&self) -> String {
        self.journalctl(&["--output", "short-precise"])
    }
}

impl Drop for Systemd<'_> {
    fn drop(&mut self) {
        drop(self.host.stdin.take());
        if std::thread::panicking() {
            self.host.wait().ok();
            return;
        }
        wait_until("the end of systemd", DEADLINE, || self.host.try_wait().expect("our child").is_some());
    }
}
