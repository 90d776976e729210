//! Those who contend for a lock.

use super::Cause;
use crate::support::{Case, DEADLINE, NeighbourLock, Running, STEADY, Version, Zklock, curator, host, kazoo};
use nix::sys::signal::Signal;
use zookeeper::CreateMode;

/// What a party is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Zklock,
    /// `zklock wait`, which has no node. It holds the lock, so to speak, when it has ended because the lock is free.
    Wait,
    /// A lock of that library.
    Curator,
    Kazoo,
    /// A node of another client, which holds when it is the first.
    Node,
}

/// A party as the tables write it. [`super`] has the words.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) kind: Kind,
    /// Whether its zklock reaches the server by the proxy of the queue.
    pub(super) by_proxy: bool,
    /// zklock's options, the library's kind of lock, or the name of the node.
    words: Vec<String>,
    /// The endings of its paths.
    paths: Vec<String>,
}

impl Spec {
    pub(super) fn new(text: &str) -> Self {
        let is_path = |word: &String| word.len() == 1 && word.starts_with(|c: char| c.is_ascii_lowercase());
        let all = text.split_whitespace().map(str::to_owned);
        let (paths, mut words): (Vec<_>, Vec<_>) = all.partition(is_path);
        let by_proxy = words.first().is_some_and(|word| word == "~");
        let kind = match words.first().map(String::as_str) {
            Some("wait") => Some(Kind::Wait),
            Some("curator") => Some(Kind::Curator),
            Some("kazoo") => Some(Kind::Kazoo),
            Some("node") => Some(Kind::Node),
            Some("zklock" | "~") => Some(Kind::Zklock),
            _ => None,
        };
        words.drain(..usize::from(kind.is_some()));
        Self { kind: kind.unwrap_or(Kind::Zklock), by_proxy, words, paths }
    }

    /// A lock of this library.
    pub(super) fn of(kind: Kind, lock: &str) -> Self {
        Self { kind, by_proxy: false, words: vec![lock.to_owned()], paths: vec![] }
    }

    /// Its paths in this case.
    pub(super) fn paths(&self, case: &Case) -> Vec<String> {
        if self.paths.is_empty() {
            return vec![case.path().to_owned()];
        }
        self.paths.iter().map(|ending| format!("{}-{ending}", case.path())).collect()
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    fn value(&self, option: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == option)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Whether it contends for the case's own path.
    pub(super) fn has_own_path(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether others like it may hold at the same time.
    pub(super) fn is_shared(&self) -> bool {
        self.has("-s") || self.has("read")
    }

    /// What `status --json` says of it: its mode, how many may hold, and its naming.
    pub(super) fn described(&self) -> (&'static str, u64, &str) {
        let slots = self.value("--slots").map_or(1, |slots| slots.parse().expect("a number"));
        let mode = match slots {
            1 if self.is_shared() || self.words.iter().any(|word| word.contains("read-lock")) => "shared",
            1 => "exclusive",
            _ => "slots",
        };
        let naming = match self.kind {
            Kind::Kazoo => "kazoo",
            Kind::Curator if !self.has("mutex") && !self.has("revocable") => "curator-rw",
            _ => self.value("--naming").unwrap_or("curator"),
        };
        (mode, slots, naming)
    }

    /// A call of zklock with more options: this lock or, for a `wait`, the wait for it. `script` is the command's.
    pub(super) fn call(&self, case: &Case, version: Version, options: &[&str], script: &str) -> Zklock {
        if self.kind == Kind::Wait {
            // The other version may not know it.
            return case.zklock().arg("wait").args(options).args(self.paths(case));
        }
        let zklock = case.zklock().program(version.program()).args(options).args(&self.words);
        zklock.args(self.paths(case)).args(["--", "sh", "-c", script])
    }

    /// Starts to contend.
    pub(super) fn start(&self, case: &Case, version: Version, options: &[String]) -> Box<dyn Party> {
        // So that only a release lets the next contender in, and no session's end.
        let session = ["--session-timeout", STEADY];
        let session = if self.has(session[0]) { &[] } else { &session[..] };
        match self.kind {
            Kind::Zklock => {
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let zklock = self.call(case, version, &[&["-v"], session, &options].concat(), &hold(case));
                Box::new(Contender { running: zklock.spawn(), version })
            }
            Kind::Wait => Box::new(Wait(self.call(case, version, &["-v"], "").spawn())),
            Kind::Curator => Box::new(curator().take(&self.words[0], case.path())),
            Kind::Kazoo => Box::new(kazoo().take(&self.words[0], case.path())),
            Kind::Node => {
                let mode = match self.words.get(1).map(String::as_str) {
                    Some("persistent") => CreateMode::Persistent,
                    Some("numbered") => CreateMode::PersistentSequential,
                    Some("container") => CreateMode::Container,
                    _ => CreateMode::EphemeralSequential,
                };
                case.observer().mkdirs(case.path());
                case.observer().create(&format!("{}/{}", case.path(), self.words[0]), "", mode);
                Box::new(Node)
            }
        }
    }
}

/// A command that holds the lock, and prints before it which of the others are alive. One that is dead may not have been
/// reaped yet.
fn hold(case: &Case) -> String {
    let dir = case.dir().display();
    format!(
        "for other in {dir}/*.pid; do pid=${{other##*/}}; pid=${{pid%.pid}}; \
         grep -qs '^State:.[^ZX]' \"/proc/$pid/status\" && echo beside $pid; done; \
         : >{dir}/$$.pid; echo running $$; exec sleep 300"
    )
}

/// A party in the queue.
pub(super) trait Party {
    /// Whether it holds the lock, by what itself says.
    fn holds(&self) -> bool;

    /// Whether it has said, if it says that at all, that it waits.
    fn has_said_that_it_waits(&self) -> bool {
        true
    }

    /// Makes it leave, unless somebody else does for this cause.
    fn leave(&self, cause: Cause);

    /// Waits until it has left for this cause, and checks how.
    fn wait_left(self: Box<Self>, cause: Cause, held: bool);

    /// What its command has printed, and zklock's own process.
    fn zklock(&self) -> Option<&Running> {
        None
    }

    /// Becomes a reader without a moment in between.
    fn step_down(&self) {
        panic!("only a stepping lock of Curator's does that");
    }
}

/// zklock.
struct Contender {
    running: Running,
    version: Version,
}

impl Party for Contender {
    fn holds(&self) -> bool {
        self.running.stdout().count("running") > 0 && self.running.is_running()
    }

    fn has_said_that_it_waits(&self) -> bool {
        // Versions word it differently.
        self.version == Version::Other || self.running.stderr().count(": position ") > 0
    }

    fn leave(&self, cause: Cause) {
        match cause {
            Cause::End | Cause::EndCutOff => self.running.signal(Signal::SIGTERM),
            Cause::Kill => self.running.signal(Signal::SIGKILL),
            _ => {}
        }
    }

    fn wait_left(self: Box<Self>, cause: Cause, held: bool) {
        let output = self.running.wait(DEADLINE);
        let (code, says) = match (cause, held) {
            (Cause::End | Cause::EndCutOff | Cause::Kill, _) => (None, ""),
            (Cause::Delete | Cause::Force, true) => (Some(123), "its node was deleted by another client"),
            (Cause::Delete | Cause::Force, false) => {
                (Some(125), "its lock node was deleted by another client")
            }
            (Cause::Revoke | Cause::RevokeAll, true) => (Some(123), "the lock is revoked by "),
            (Cause::Revoke | Cause::RevokeAll, false) => {
                (Some(125), "its place in the queue was revoked by ")
            }
            (Cause::CuratorRevokes, true) => (Some(123), "the lock is revoked by another client"),
            (Cause::CuratorRevokes, false) => (Some(125), "revoked by another client"),
            (Cause::GiveUp, _) => (Some(124), "busy: gave up after"),
            (Cause::Lose, _) => (Some(123), "the lock is lost"),
            (Cause::Refuse, _) => (Some(125), "of another lock recipe"),
        };
        match code {
            Some(code) => output.assert_code(code),
            None => {
                output.assert_signal(if cause == Cause::Kill { Signal::SIGKILL } else { Signal::SIGTERM })
            }
        };
        if self.version == Version::This {
            output.assert_stderr(says);
            if matches!(cause, Cause::Revoke | Cause::RevokeAll) {
                output.assert_stderr(&format!("revoked by {}:", host()));
            }
        }
        assert!(held || output.stdout.is_empty(), "a waiter: {output}");
    }

    fn zklock(&self) -> Option<&Running> {
        Some(&self.running)
    }
}

/// `zklock wait`.
struct Wait(Running);

impl Party for Wait {
    fn holds(&self) -> bool {
        !self.0.is_running()
    }

    fn has_said_that_it_waits(&self) -> bool {
        self.0.stderr().count(": position ") > 0
    }

    fn leave(&self, _: Cause) {
        if self.0.is_running() {
            self.0.signal(Signal::SIGTERM);
        }
    }

    fn wait_left(self: Box<Self>, _: Cause, held: bool) {
        let output = self.0.wait(DEADLINE);
        if held {
            assert_eq!(output.assert_code(0).assert_stderr(": free after ").stdout, "");
        } else {
            output.assert_signal(Signal::SIGTERM);
        }
    }
}

/// A lock of Curator's or kazoo's.
impl Party for NeighbourLock {
    fn holds(&self) -> bool {
        self.is_held()
    }

    fn leave(&self, cause: Cause) {
        // One that is asked to leave does so itself.
        if cause != Cause::Revoke {
            self.start_to_give();
        }
    }

    fn wait_left(self: Box<Self>, cause: Cause, _: bool) {
        if cause == Cause::Revoke {
            self.wait_asked();
        }
        self.wait_released();
    }

    fn step_down(&self) {
        Self::step_down(self);
    }
}

/// A node of another client.
struct Node;

impl Party for Node {
    fn holds(&self) -> bool {
        true
    }

    fn leave(&self, _: Cause) {}

    fn wait_left(self: Box<Self>, _: Cause, _: bool) {}
}
