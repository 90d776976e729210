//! The trace of a scene: the requests and what came of them.
//!
//! The trace replaces transaction ids by their order, sessions by their client, and times by whether they are as
//! expected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use zklock_core::protocol::ReadNode;

use super::{Heard, Stage};
use crate::client::ClientEvent;
use crate::client::message::{Node, Reply, Request, RequestError, SessionChange};
use crate::ensemble::wire::{Answer, Mode, Op, Stat, ToClient, WireError};
use crate::support::DEADLINE;

/// Encloses a transaction id in the trace until the end of the scene.
const MARK: char = '\u{1}';

pub(super) struct Play<'a> {
    pub(super) stage: &'a mut dyn Stage,
    root: String,
    pub(super) trace: Vec<String>,
    sessions: BTreeMap<i64, usize>,
    /// Each client's session.
    tickets: BTreeMap<usize, i64>,
    pub(super) leader: usize,
}

impl<'a> Play<'a> {
    /// Begins a scene below a node of its own.
    pub(super) fn begin(stage: &'a mut dyn Stage) -> Self {
        static SCENES: AtomicUsize = AtomicUsize::new(0);
        let root = format!("/scene-{}", SCENES.fetch_add(1, Ordering::Relaxed));
        let leader = stage.settle();
        let (trace, sessions, tickets) = (vec![], BTreeMap::new(), BTreeMap::new());
        let mut play = Self { stage, root, trace, sessions, tickets, leader };
        play.connect(0, 10_000);
        play.create(0, "", Mode::Persistent);
        play.close(0);
        play.trace.clear();
        play
    }

    /// Returns the trace, with transactions numbered by their order.
    pub(super) fn end(self) -> Vec<String> {
        let text = self.trace.join("\n");
        let zxids: BTreeSet<i64> =
            text.split(MARK).skip(1).step_by(2).map(|zxid| zxid.parse().unwrap()).collect();
        let rank =
            |zxid: &str| zxids.iter().position(|other| *other == zxid.parse::<i64>().unwrap()).unwrap();
        let mut told = String::new();
        for (index, part) in text.split(MARK).enumerate() {
            if index % 2 == 1 { write!(told, "z{}", rank(part)).unwrap() } else { told.push_str(part) }
        }
        told.lines().map(str::to_owned).collect()
    }

    /// The server that clients connect to if it doesn't matter: a follower, if there is one.
    pub(super) fn home(&self) -> usize {
        self.followers().first().copied().unwrap_or(self.leader)
    }

    pub(super) fn followers(&self) -> Vec<usize> {
        (0..self.stage.size()).filter(|server| *server != self.leader).collect()
    }

    pub(super) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// The time since an earlier moment.
    pub(super) fn since(&self, earlier: Duration) -> Duration {
        self.stage.now().saturating_sub(earlier)
    }

    pub(super) fn pass(&mut self, time: Duration) {
        // This client doesn't exist, so `hear` just waits.
        self.stage.hear(usize::MAX, time);
    }

    pub(super) fn settle(&mut self) {
        self.leader = self.stage.settle();
    }

    // Connections.

    pub(super) fn connect(&mut self, who: usize, timeout_ms: i32) {
        let home = self.home();
        self.connect_to(who, home, timeout_ms);
    }

    /// Connects with a new session.
    pub(super) fn connect_to(&mut self, who: usize, server: usize, timeout_ms: i32) {
        self.stage.connect(who, server, 0, timeout_ms);
        self.greeting(who);
    }

    /// Connects again with the same session.
    pub(super) fn resume(&mut self, who: usize, server: usize, timeout_ms: i32) {
        self.resume_as(who, who, server, timeout_ms);
    }

    /// Connects one client with the session of another.
    pub(super) fn resume_as(&mut self, owner: usize, who: usize, server: usize, timeout_ms: i32) {
        self.stage.connect(who, server, self.tickets[&owner], timeout_ms);
        self.greeting(who);
    }

    fn greeting(&mut self, who: usize) {
        let line = match self.stage.hear(who, DEADLINE) {
            Heard::Packet(ToClient::Connected { session: 0, .. }) => format!("{who} expired"),
            Heard::Packet(ToClient::Connected { session, timeout_ms, .. }) => {
                self.tickets.insert(who, session);
                let first = *self.sessions.entry(session).or_insert(who);
                format!("{who} has session {first} for {timeout_ms}")
            }
            other => self.told_heard(who, &other),
        };
        self.trace.push(line);
    }

    pub(super) fn send(&mut self, who: usize, op: &Op) {
        let op = self.rooted(op.clone());
        self.stage.send(who, op);
    }

    /// Sends a request and records everything up to its answer.
    pub(super) fn ask(&mut self, who: usize, op: &Op) -> Option<Answer> {
        self.send(who, op);
        self.answer(who, &format!("{op:?}"))
    }

    /// Records everything up to the next answer.
    pub(super) fn answer(&mut self, who: usize, what: &str) -> Option<Answer> {
        loop {
            let heard = self.stage.hear(who, DEADLINE);
            let Heard::Packet(ToClient::Answer { result, .. }) = heard else {
                self.trace.push(self.told_heard(who, &heard));
                if matches!(heard, Heard::Packet(ToClient::Event { .. })) {
                    continue;
                }
                return None;
            };
            let told = match &result {
                Ok(answer) => self.told_answer(answer),
                Err(WireError { code, index }) => format!("{code:?} at {index}"),
            };
            self.trace.push(format!("{who} {what}: {told}"));
            return result.ok();
        }
    }

    /// Records what arrives next, or that nothing does.
    pub(super) fn next(&mut self, who: usize, within: Duration) {
        let heard = self.stage.hear(who, within);
        self.trace.push(self.told_heard(who, &heard));
    }

    /// Records the event that arrives next.
    pub(super) fn event(&mut self, who: usize) {
        self.next(who, DEADLINE);
    }

    /// Records that the server closes the connection.
    pub(super) fn closed(&mut self, who: usize) {
        self.next(who, DEADLINE);
    }

    pub(super) fn hang_up(&mut self, who: usize) {
        self.stage.hang_up(who);
    }

    pub(super) fn close(&mut self, who: usize) {
        self.ask(who, &Op::Close);
        self.hang_up(who);
    }

    pub(super) fn create(&mut self, who: usize, path: &str, mode: Mode) -> Option<Answer> {
        self.ask(who, &create(path, mode))
    }

    /// Polls without recording until a node is gone, and records whether that was at the expected time.
    pub(super) fn gone_after(&mut self, who: usize, path: &str, since: Duration, expected: Duration) {
        // Real servers may be late, but they are never early.
        self.gone_between(who, path, since, expected..expected + Duration::from_secs(2));
    }

    pub(super) fn gone_between(
        &mut self,
        who: usize,
        path: &str,
        since: Duration,
        expected: Range<Duration>,
    ) {
        while self.ask(who, &exists(path)).is_some() {
            self.trace.pop();
            self.pass(Duration::from_millis(10));
        }
        let gone = self.since(since);
        let is_right = expected.contains(&gone);
        let times = if is_right { "in time".to_owned() } else { format!("after {} s", gone.as_secs()) };
        self.trace.push(format!("{path} is gone {times}"));
    }

    // zklock's sessions.

    /// Records the news of a session up to and including one of this kind.
    pub(super) fn news_until(
        &mut self,
        who: usize,
        is_last: impl Fn(&ClientEvent) -> bool,
    ) -> Vec<ClientEvent> {
        let mut all = vec![];
        loop {
            let Some(news) = self.stage.news(who, DEADLINE) else {
                self.trace.push(format!("{who} has no news"));
                return all;
            };
            let line = self.told_news(who, &news);
            // The number of these changes depends on how busy the machine is.
            if !matches!(news, ClientEvent::Session(SessionChange::ServersSay(_))) {
                self.trace.push(line);
            }
            let is_over = is_last(&news);
            all.push(news);
            if is_over {
                return all;
            }
        }
    }

    /// Sends a request and records everything up to its reply.
    pub(super) fn request(&mut self, who: usize, number: usize, request: Request) -> Option<Reply> {
        self.stage.ask(who, number, request);
        let news = self.news_until(who, |news| {
            matches!(news, ClientEvent::Reply(n, reply) if *n == number && !matches!(reply, Reply::Changed(..)))
                || matches!(news, ClientEvent::Session(SessionChange::Lost(_)))
        });
        news.into_iter().rev().find_map(|news| match news {
            ClientEvent::Reply(n, reply) if n == number => Some(reply),
            _ => None,
        })
    }

    fn told_news(&mut self, who: usize, news: &ClientEvent) -> String {
        match news {
            ClientEvent::Session(SessionChange::Connected { id, timeout, .. }) => {
                self.sessions.insert(*id, who);
                format!("{who} connected for {timeout:?}")
            }
            ClientEvent::Session(SessionChange::Lost(failure)) => {
                format!("{who} lost: {}", told_failure(failure))
            }
            ClientEvent::Session(change) => format!("{who} {change:?}"),
            ClientEvent::Reply(number, reply) => format!("{who} {number}: {}", self.told_reply(reply)),
        }
    }

    fn told_reply(&self, reply: &Reply) -> String {
        if let Some(failure) = reply.failure() {
            let name = format!("{reply:?}");
            return format!("{}: {}", name.split('(').next().unwrap_or(""), told_failure(failure));
        }
        match reply {
            Reply::Created(Ok(created)) => format!("created {} {}", created.path.name(), zxid(created.czxid)),
            Reply::Listed(Ok(names)) => {
                let mut names = names.clone();
                names.sort();
                format!("listed {names:?}")
            }
            Reply::Read(path, Ok(ReadNode::Hidden)) => {
                format!("read {path}: hidden", path = self.unrooted(path.as_str()))
            }
            Reply::Read(path, Ok(ReadNode::Seen(node))) => {
                let Node { data, owner, czxid, version, .. } = node;
                let (data, path, owner) =
                    (String::from_utf8_lossy(data), self.unrooted(path.as_str()), self.owner(*owner));
                format!("read {path}: {data:?} of {owner} {} version {version}", zxid(*czxid))
            }
            Reply::Changed(path, is_deleted) => {
                format!("changed {} {is_deleted}", self.unrooted(path.as_str()))
            }
            Reply::Written(Ok(_)) => "written".to_owned(),
            Reply::Confirmed(_, Ok(())) => "confirmed".to_owned(),
            other => format!("{other:?}"),
        }
    }

    // Formatting.

    fn told_heard(&self, who: usize, heard: &Heard) -> String {
        match heard {
            Heard::Packet(ToClient::Event { path, happened }) => {
                format!("{who} event: {happened:?} {}", self.unrooted(path))
            }
            Heard::Packet(other) => format!("{who} hears {other:?}"),
            Heard::Closed => format!("{who} is closed"),
            Heard::Silence => format!("{who} hears nothing"),
        }
    }

    fn owner(&self, owner: i64) -> String {
        match owner {
            0 => "nobody".to_owned(),
            _ => self.sessions.get(&owner).map_or("a stranger".to_owned(), ToString::to_string),
        }
    }

    fn told_stat(&self, stat: &Stat) -> String {
        let Stat { czxid, mzxid, pzxid, version, cversion, owner, data_length, children, ctime, mtime } =
            stat;
        let (czxid, mzxid, pzxid, owner) = (zxid(*czxid), zxid(*mzxid), zxid(*pzxid), self.owner(*owner));
        let times = if mtime >= ctime { "" } else { " modified before it was created" };
        format!(
            "{czxid} {mzxid} {pzxid} v{version} c{cversion} of {owner} {data_length} bytes {children} children{times}"
        )
    }

    fn told_answer(&self, answer: &Answer) -> String {
        match answer {
            Answer::Done => "done".to_owned(),
            Answer::Created(path, stat) => format!("{} {}", self.unrooted(path), self.told_stat(stat)),
            Answer::Stat(stat) => self.told_stat(stat),
            Answer::Data(data, stat) => {
                format!("{:?} {}", String::from_utf8_lossy(data), self.told_stat(stat))
            }
            Answer::Children(names, stat) => {
                let mut names: Vec<&str> = names.iter().map(|name| &**name).collect();
                names.sort_unstable();
                format!("{names:?} {}", self.told_stat(stat))
            }
            Answer::Multi(answers) => {
                let told = |answer: &Answer| match answer {
                    // In a transaction servers return only the path of a created node.
                    Answer::Created(path, _) => self.unrooted(path).to_owned(),
                    other => self.told_answer(other),
                };
                answers.iter().map(told).collect::<Vec<_>>().join("; ")
            }
        }
    }

    fn unrooted<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    fn rooted(&self, op: Op) -> Op {
        let at = |path: String| self.path(&path);
        match op {
            Op::Create { path, data, mode } => Op::Create { path: at(path), data, mode },
            Op::Delete { path, version } => Op::Delete { path: at(path), version },
            Op::SetData { path, data, version } => Op::SetData { path: at(path), data, version },
            Op::Check { path, version } => Op::Check { path: at(path), version },
            Op::Multi(ops) => Op::Multi(ops.into_iter().map(|op| self.rooted(op)).collect()),
            Op::Exists { path } => Op::Exists { path: at(path) },
            Op::GetData { path, watch } => Op::GetData { path: at(path), watch },
            Op::GetChildren { path, watch } => Op::GetChildren { path: at(path), watch },
            Op::Sync | Op::Ping | Op::Close => op,
        }
    }
}

fn zxid(zxid: i64) -> String {
    format!("{MARK}{zxid}{MARK}")
}

fn told_failure(failure: &RequestError) -> String {
    match failure {
        // The client library chooses the wording.
        RequestError::Other(_) => "other".to_owned(),
        other => format!("{other:?}").split('(').next().unwrap_or("").to_owned(),
    }
}

pub(super) fn create(path: &str, mode: Mode) -> Op {
    Op::Create { path: path.to_owned(), data: b"data".to_vec(), mode }
}

pub(super) fn delete(path: &str, version: i32) -> Op {
    Op::Delete { path: path.to_owned(), version }
}

pub(super) fn set(path: &str, data: &str, version: i32) -> Op {
    Op::SetData { path: path.to_owned(), data: data.as_bytes().to_vec(), version }
}

pub(super) fn check(path: &str, version: i32) -> Op {
    Op::Check { path: path.to_owned(), version }
}

pub(super) fn exists(path: &str) -> Op {
    Op::Exists { path: path.to_owned() }
}

pub(super) fn get(path: &str, watch: bool) -> Op {
    Op::GetData { path: path.to_owned(), watch }
}

pub(super) fn list(path: &str, watch: bool) -> Op {
    Op::GetChildren { path: path.to_owned(), watch }
}
