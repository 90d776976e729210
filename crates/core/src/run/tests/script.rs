//! A run that a test drives step by step, and a transcript: everything that the run does, as text.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::HeldLock;
use crate::message::Message;
use crate::path::LockPath;
use crate::protocol::{
    Asker, LockIndex, LockNode, Node, ReadNode, Reply, Request, RequestError, ServerTime, SessionChange,
    SessionKey,
};
use crate::queue::contender::AttemptIds;
use crate::queue::name::{Family, Mode};
use crate::queue::once::record_path;
use crate::queue::record::{Process, Record};
use crate::run::{Effect, Input, Introduction, KillRound, LeaderChange, Phase, Plan, Reach, Run};
use crate::time::BootTime;

/// zklock's session, and another contender's.
pub(super) const OURS: i64 = 0x11;
pub(super) const THEIRS: i64 = 0x22;

/// The servers' clock when the run begins.
const EPOCH: i64 = 1_700_000_000_000;

/// The beginning on zklock's clock. It isn't zero, so that no earlier time lies before the start of the clock.
const BEGAN: Duration = Duration::from_secs(1000);

/// The session timeout.
pub(super) const TIMEOUT: Duration = Duration::from_secs(12);

pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

pub(super) fn lock(path: &str) -> LockPath {
    LockPath::parse(OsStr::new(path)).unwrap()
}

/// `zklock /locks/a -- job`, which each test may change.
pub(in crate::run) fn plan() -> Plan {
    Plan {
        locks: vec![lock("/locks/a")],
        mode: Mode::Exclusive,
        family: Family::Curator,
        hosts: "zk1:2181".to_owned(),
        chroot: String::new(),
        has_credentials: false,
        began: BootTime::from_start(BEGAN),
        began_at: ServerTime(0),
        give_up_at: None,
        connect_timeout: seconds(10.0),
        connect_option: "--connect-timeout",
        nonblock: false,
        conflict_exit_code: 1,
        once_per: None,
        session_timeout: TIMEOUT,
        signal: 15,
        single_child: false,
        has_terminal: false,
        kill_after: seconds(2.0),
        command: "job".to_owned(),
        shows_line: false,
        notifies: false,
        progress: None,
        outer: vec![],
        held: vec![],
    }
}

pub(super) fn record(host: &str, pid: u32) -> Record {
    Record {
        version: 1,
        host: host.to_owned(),
        pid,
        user: "ann".to_owned(),
        program: "job".to_owned(),
        label: None,
        mode: "exclusive".to_owned(),
        slots: 1,
        has_slot: false,
        stopped: false,
        held_after_ms: None,
        process: Some(Box::new(Process {
            boot: "boot".to_owned(),
            namespace: "1".to_owned(),
            started: pid.into(),
        })),
        revoked_by: None,
    }
}

pub(super) fn held(path: &str, node: &str, fencing_token: i64) -> HeldLock {
    HeldLock {
        path: path.to_owned(),
        node: node.to_owned(),
        fencing_token,
        session: THEIRS,
        mode: "exclusive".to_owned(),
        slots: 1,
        pid: 30,
        started: 300,
    }
}

/// The name of another contender's node with this number.
pub(super) fn other(number: u32) -> String {
    format!("_c_00000000-0000-0000-0000-000000000000-lock-{number:010}")
}

/// The content of a node.
pub(super) fn node(owner: i64, czxid: i64, record: &Record) -> Node {
    Node {
        data: record.to_bytes(),
        owner,
        czxid,
        version: 0,
        created: ServerTime(EPOCH),
        modified: ServerTime(EPOCH),
    }
}

/// The run and its transcript so far.
pub(super) struct Script {
    run: Run,
    now: BootTime,
    key: SessionKey,
    transcript: String,
    /// Whether the transcript keeps everything, also the usual beginning.
    in_full: bool,
    /// The path, without its number, of each node that was created.
    entered: Vec<String>,
}

impl Script {
    /// A run that begins, on host `web1` with process id 7.
    pub(super) fn of(plan: Plan) -> Self {
        let (now, locks) = (plan.began, plan.locks.len());
        let mut script = Self {
            run: Run::new(plan),
            now,
            key: SessionKey(0),
            transcript: String::new(),
            in_full: false,
            entered: vec![],
        };
        let effects = script.run.begin(now);
        script.record("begin", &effects);
        if effects.contains(&Effect::Introduce) {
            script.introduce(locks);
        }
        script
    }

    /// Keeps the usual beginning, up to [`begun`](Self::begun), in the transcript.
    pub(super) fn in_full(mut self) -> Self {
        self.in_full = true;
        self
    }

    /// Ends the usual beginning, and removes it from the transcript unless [`in_full`](Self::in_full) was called.
    pub(super) fn begun(&mut self) -> &mut Self {
        if !std::mem::replace(&mut self.in_full, true) {
            self.transcript.clear();
        }
        self
    }

    /// Answers [`Effect::Introduce`], as the worker would.
    pub(super) fn introduce(&mut self, locks: usize) -> &mut Self {
        let ids = (0..locks as u128).map(|lock| AttemptIds((lock + 1) << 64)).collect();
        self.on(Input::Introduced(Introduction { record: record("web1", 7), ids }))
    }

    /// This many seconds after the beginning.
    pub(super) fn moment(after: f64) -> BootTime {
        BootTime::from_start(BEGAN) + seconds(after)
    }

    /// Continues this many seconds after the beginning.
    pub(super) fn at(&mut self, after: f64) -> &mut Self {
        self.now = Self::moment(after);
        self
    }

    /// The same, and wakes the run whenever it asked to be woken. The transcript keeps only wake-ups with effects.
    pub(super) fn pass(&mut self, until: f64) -> &mut Self {
        let until = Self::moment(until);
        for round in 0.. {
            let Some(wake) = self.run.wake_at(self.now).filter(|wake| *wake < until) else { break };
            assert!(round < 1000, "it wakes up in vain");
            self.now = wake.max(self.now + Duration::from_millis(1));
            let effects = self.run.on(self.now, Input::Tick);
            if !effects.is_empty() {
                self.record("Tick", &effects);
            }
        }
        self.now = until;
        self
    }

    pub(super) fn on(&mut self, input: Input) -> &mut Self {
        let said = said(&input);
        let effects = self.run.on(self.now, input);
        self.record(&said, &effects);
        self
    }

    /// The effects of an input, left out of the transcript.
    pub(super) fn effects(&mut self, input: Input) -> Vec<Effect> {
        self.run.on(self.now, input)
    }

    pub(super) fn tick(&mut self) -> &mut Self {
        self.on(Input::Tick)
    }

    pub(super) fn signal(&mut self, signal: i32) -> &mut Self {
        self.on(Input::Signal(signal))
    }

    pub(super) fn session(&mut self, change: SessionChange) -> &mut Self {
        self.on(Input::Session(self.key, change))
    }

    pub(super) fn connected(&mut self) -> &mut Self {
        self.session(SessionChange::Connected { id: OURS, timeout: TIMEOUT, began: self.now })
    }

    pub(super) fn reply(&mut self, asker: Asker, reply: Reply) -> &mut Self {
        self.on(Input::Reply(self.key, asker, reply))
    }

    /// The node that was entered last: its name with this number.
    pub(super) fn own(&self, number: u32) -> String {
        let entered = self.entered.last().map_or("", String::as_str);
        format!("{}{number:010}", entered.rsplit('/').next().unwrap_or_default())
    }

    /// The lock's create is answered: its node has this number, which is its czxid too.
    pub(super) fn created(&mut self, lock: usize, number: u32) -> &mut Self {
        let entered = self.entered.last().map_or("", String::as_str);
        let created = LockNode { path: format!("{entered}{number:010}").into(), czxid: number.into() };
        self.reply(Asker::Lock(LockIndex(lock)), Reply::Created(Ok(created)))
    }

    /// The lock's list is answered with other contenders' numbers and zklock's own.
    pub(super) fn listed(&mut self, lock: usize, others: &[u32], own: u32) -> &mut Self {
        let mut names: Vec<String> = others.iter().map(|number| other(*number)).collect();
        names.push(self.own(own));
        self.reply(Asker::Lock(LockIndex(lock)), Reply::Listed(Ok(names)))
    }

    /// The node of the lock `/locks/a` with this name is read for its contender.
    pub(super) fn read(&mut self, name: &str, node: impl Into<ReadNode>) -> &mut Self {
        self.reply(Asker::Lock(LockIndex(0)), Reply::Read(format!("/locks/a/{name}").into(), Ok(node.into())))
    }

    /// The record of the last success is read, and the servers' time is known.
    pub(super) fn once(&mut self, record: Result<Node, RequestError>) -> &mut Self {
        let written = Reply::Written(Ok(ServerTime(EPOCH + 10_000)));
        self.reply(Asker::Once, Reply::Read(record_path("/locks/a"), record.map(ReadNode::from)))
            .reply(Asker::Once, written)
    }

    /// A confirmation that was sent at this time is answered now.
    pub(super) fn confirmed(&mut self, sent: f64, result: Result<(), RequestError>) -> &mut Self {
        let sent = Self::moment(sent);
        self.reply(Asker::Lease, Reply::Confirmed(sent, result))
    }

    /// Alone in the queue: holds the lock at 0.1 s.
    pub(super) fn holds(&mut self) -> &mut Self {
        self.connected().at(0.1).created(0, 1).listed(0, &[], 1);
        let own = self.own(1);
        self.read(&own, node(OURS, 1, &record("web1", 7)))
    }

    /// The same, after the run has begun to wait for its messages to be written.
    pub(super) fn first(&mut self) -> &mut Self {
        self.holds().begun().tick()
    }

    /// In the queue at 0.1 s with number 9, behind these; the one before it is read, from this host.
    pub(super) fn behind(&mut self, others: &[u32], host: &str) -> &mut Self {
        let nearest = others.last().copied().unwrap_or_default();
        self.connected().at(0.1).created(0, 9).listed(0, others, 9);
        self.begun().read(&other(nearest), node(THEIRS, nearest.into(), &record(host, 30)))
    }

    /// The command runs, at 0.2 s.
    pub(super) fn running(&mut self) -> &mut Self {
        self.holds().tick().tick().at(0.2).on(Input::Started(Ok(()))).begun().tick()
    }

    /// The command's first process is dead, and is reaped.
    pub(super) fn reaped(&mut self, exit: crate::exit::Exit) -> &mut Self {
        self.on(Input::Child)
            .on(Input::Children {
                leader: Some(LeaderChange::Died { by: None }),
                none_left: Some(Reach::All),
            })
            .on(Input::Reaped(Some(exit)))
    }

    /// Keeps only the run's messages on these levels.
    pub(super) fn records_only(&mut self, levels: &[&str]) -> &mut Self {
        let is_said = |line: &&str| levels.iter().any(|level| line.trim_start().starts_with(level));
        self.transcript =
            self.transcript.lines().filter(is_said).fold(String::new(), |all, line| all + line + "\n");
        self
    }

    /// Keeps only lines with one of these words.
    pub(super) fn keeps_lines(&mut self, words: &[&str]) -> &mut Self {
        let is_kept = |line: &&str| words.iter().any(|word| line.contains(word));
        self.transcript =
            self.transcript.lines().filter(is_kept).fold(String::new(), |all, line| all + line + "\n");
        self
    }

    /// A round of killing left nothing.
    pub(super) fn all_killed(&mut self) -> &mut Self {
        self.on(Input::KillRound(KillRound { gone: true, next: None, stuck: false, left: vec![] }))
    }

    fn record(&mut self, said: &str, effects: &[Effect]) {
        let after = self.now.since(BootTime::from_start(BEGAN));
        let wake = self.run.wake_at(self.now).map(|at| at.since(BootTime::from_start(BEGAN)));
        let wake = wake.map_or_else(String::new, |wake| format!(", wakes at {wake:?}"));
        let mut line = |text: String| writeln!(self.transcript, "{}", shortened(&text)).unwrap();
        line(format!("{after:?} {said} -> {}{wake}", phase(&self.run)));
        for effect in effects {
            match effect {
                Effect::Connect { key, .. } => self.key = *key,
                Effect::ReportCreate(path) => self.entered.push(path.clone()),
                _ => {}
            }
            line(format!("    {}", done(effect)));
        }
    }

    /// Checks that the transcript is the one under this title in `transcripts/FILE.txt`. With `ZKLOCK_RECORD` in the environment,
    /// writes it there instead.
    pub(super) fn is(&self, file: &str, title: &str) {
        static WRITING: Mutex<()> = Mutex::new(());
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/run/tests/transcripts/{file}.txt"));
        let heading = format!("# {title}\n");
        if std::env::var_os("ZKLOCK_RECORD").is_some() {
            let _one_at_a_time = WRITING.lock();
            let all = std::fs::read_to_string(&file).unwrap_or_default();
            let others = all.split_inclusive("\n\n").filter(|transcript| !transcript.starts_with(&heading));
            let mut transcripts: Vec<String> = others.map(str::to_owned).collect();
            transcripts.push(format!("{heading}{}\n", self.transcript));
            transcripts.sort();
            std::fs::write(&file, transcripts.concat()).unwrap();
            return;
        }
        let all = std::fs::read_to_string(&file).unwrap_or_default();
        let recorded = all
            .split_inclusive("\n\n")
            .find_map(|transcript| transcript.strip_prefix(&heading))
            .unwrap_or_default();
        for (number, (expected, transcript)) in recorded.lines().zip(self.transcript.lines()).enumerate() {
            assert_eq!(expected, transcript, "{title}, line {}", number + 1);
        }
        assert_eq!(recorded, format!("{}\n", self.transcript), "{title}");
    }
}

/// Removes what is the same in every transcript.
fn shortened(text: &str) -> String {
    let mut text = text.replace("_c_00000000-0000-0000-0000-000000000000-", "other-");
    for lock in 1..=3 {
        text = text.replace(&format!("_c_00000000-0000-000{lock}-0000-00000000"), "ours-");
    }
    for (long, short) in [("\"version\":1,", ""), (",\"user\":\"ann\",\"program\":\"job\",\"mode\":", ",")] {
        text = text.replace(long, short);
    }
    while let Some(from) = text.find(",\"process\":{") {
        let to = text[from..].find('}').map_or(text.len(), |length| from + length + 1);
        text.replace_range(from..to, "");
    }
    text
}

fn said(input: &Input) -> String {
    match input {
        Input::Introduced(_) => "introduced".to_owned(),
        Input::Session(_, change) => format!("session {change:?}"),
        Input::Reply(_, asker, reply) => format!("{} {}", who_asks(*asker), answered(reply)),
        other => format!("{other:?}"),
    }
}

fn answered(reply: &Reply) -> String {
    match reply {
        Reply::Read(path, Ok(ReadNode::Seen(node))) => {
            format!("read {path}: {} of {:#x}, {}", node.czxid, node.owner, text(&node.data))
        }
        other => format!("{other:?}"),
    }
}

fn done(effect: &Effect) -> String {
    match effect {
        Effect::Ask(asker, request) => format!("{} asks: {}", who_asks(*asker), asked(request)),
        Effect::Say(path, Message { level, event, text, fields, .. }) => {
            let fields = serde_json::to_string(fields).unwrap();
            format!("{level:?} {event} {path}: {} {fields}", text.replace('\n', "\\n"))
        }
        Effect::Job(effect) => format!("{effect:?}"),
        other => format!("{other:?}"),
    }
}

fn phase(run: &Run) -> &'static str {
    match &run.phase {
        Phase::Queueing(phase) if phase.connected => "Waiting",
        Phase::Queueing(_) => "Connecting",
        Phase::Starting => "Starting",
        Phase::Running(phase) if phase.is_stopping() => "Stopping",
        Phase::Running(_) => "Running",
        Phase::Recording(_) => "Recording",
        Phase::Releasing(_) => "Releasing",
        Phase::Done => "Done",
    }
}

fn who_asks(asker: Asker) -> String {
    match asker {
        Asker::Lock(LockIndex(index)) => format!("Lock({index})"),
        asker => format!("{asker:?}"),
    }
}

fn asked(request: &Request) -> String {
    match request {
        Request::Create { path, data } => format!("create {path}, {}", text(data)),
        Request::Write(path, data, version) => format!("write {path}, version {version}: {}", text(data)),
        Request::RecordSuccess { record, data, node } => {
            format!("write {record}: {}; delete {node}", text(data))
        }
        other => format!("{other:?}"),
    }
}

fn text(data: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(data)
}
