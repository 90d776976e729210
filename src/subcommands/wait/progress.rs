//! What a person or a log sees of a wait.

use std::time::Duration;

use nix::unistd::getpgrp;
use zklock_core::message::Message;
use zklock_core::path::LockPath;
use zklock_core::protocol::{ReadNode, ServerTime};
use zklock_core::queue::record::{Record, describe};
use zklock_core::queue::until_free::Awaited;
use zklock_core::run::{Line, Plan, Seen, WaitingLine};
use zklock_core::server_wait::ServerWait;
use zklock_core::text::whole;
use zklock_core::time::BootTime;

use super::super::host_time;
use crate::output;
use crate::process::clock;

const REDRAW: Duration = Duration::from_secs(1);

/// The line says how old its information about the holder is once that is older than this: it isn't watched.
const FRESH: Duration = Duration::from_secs(5);

/// How long before a message the holder is read.
const READ_AHEAD: Duration = Duration::from_secs(1);

/// What is known of the contenders that zklock waits for.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) path: LockPath,
    count: usize,
    /// The node that is watched.
    last: String,
    ahead: Seen,
    /// `None`: it was gone before it was read.
    holder: Option<Seen>,
    /// The last holds the lock, so that nothing else can change.
    is_sole: bool,
    at: BootTime,
}

impl Known {
    /// What was just read of this lock.
    pub(super) fn new(path: LockPath, awaited: Awaited) -> Self {
        let Awaited { count, last, holder } = awaited;
        let is_sole = holder.as_ref().is_some_and(|(name, _)| *name == last.0);
        let holder = holder.map(|(name, node)| seen(&name, &node));
        Self { path, count, ahead: seen(&last.0, &last.1), last: last.0, holder, is_sole, at: clock::now() }
    }

    fn holder(&self) -> Option<String> {
        self.holder.as_ref().map(|holder| holder.who.clone())
    }

    /// The message with `-n`.
    pub(super) fn busy(&self) -> Message {
        Message::Busy { holder: self.holder().unwrap_or_else(|| self.ahead.who.clone()) }
    }

    /// The message when `-w` runs out.
    pub(super) fn gave_up(&self, waited: Duration) -> Message {
        Message::GaveUp { waited, holder: self.holder(), ahead: self.ahead.who.clone() }
    }

    /// The same if no server has answered for a long time.
    pub(super) fn last_seen_busy(&self, waited: Duration, silence: Duration) -> Message {
        Message::LastSeenBusy { waited, silence, holder: self.holder(), ahead: self.ahead.who.clone() }
    }

    fn line(&self, plan: &Plan, now: BootTime) -> Line {
        let shown = self.holder.as_ref().unwrap_or(&self.ahead).at(Some(host_time()));
        let age = now.since(self.at);
        let old = if age > FRESH { format!(" (seen {} ago)", whole(age)) } else { String::new() };
        let is_other = self.holder.is_some() && !self.is_sole;
        let behind = if is_other { format!("{old}; behind {}", self.ahead.who) } else { String::new() };
        Line::Queue(WaitingLine {
            path: self.path.clone(),
            position: self.count + 1,
            waited: now.since(plan.began),
            left: plan.give_up_at.map(|at| now.until(at)),
            silent_for: None,
            is_holder: self.holder.is_some(),
            details: shown.details() + &behind,
            who: shown.who,
        })
    }

    fn still_waiting(&self, plan: &Plan, now: BootTime) -> Message {
        Message::StillWaiting {
            waited: now.since(plan.began),
            left: plan.give_up_at.map(|at| now.until(at)),
            ahead: self.count,
            predecessor: self.ahead.who.clone(),
            holder: self.holder.as_ref().map(|holder| Box::new(holder.at(Some(host_time())))),
            silent_for: None,
        }
    }
}

fn seen(name: &str, node: &ReadNode) -> Seen {
    let since = node.seen().map_or(ServerTime(0), |node| node.created);
    let held_since = Record::from_bytes(node.data()).and_then(|record| record.held_since(since));
    Seen { who: describe(name, node.data(), None), since, held_since }
}

/// When to show a wait for others.
#[derive(Debug)]
pub(super) struct Progress {
    shows_line: bool,
    interval: Option<Duration>,
    /// When to redraw the line, or to print the next message of `--progress`.
    at: Option<BootTime>,
    give_up_at: Option<BootTime>,
    /// The message before which the holder was read.
    read_for: Option<BootTime>,
    /// What was last said: the lock, the node that is watched, and how many contenders there were.
    said: Option<(LockPath, String, usize)>,
}

impl Progress {
    /// Nothing has been shown yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let (shows_line, give_up_at) = (plan.shows_line, plan.give_up_at);
        let interval = if shows_line { Some(REDRAW) } else { plan.progress };
        let at = interval.map(|interval| if shows_line { plan.began } else { plan.began + interval });
        Self { shows_line, interval, at, give_up_at, read_for: None, said: None }
    }

    /// Says who is waited for, as a step, unless that was said before.
    pub(super) fn say_if_new(&mut self, known: &Known) {
        let said = Some((known.path.clone(), known.last.clone(), known.count));
        if self.said != said {
            let message = Message::WaitingFor { who: known.ahead.who.clone(), ahead: known.count };
            output::say(&known.path, None, &message);
            self.said = said;
        }
    }

    /// Shows the wait if it is time.
    pub(super) fn show_if_due(&mut self, known: &Known, plan: &Plan, now: BootTime) {
        let Some(interval) = self.interval.filter(|_| self.at.is_some_and(|at| at <= now)) else { return };
        self.at = Some(now + interval);
        if self.shows_line {
            output::draw_line(&known.line(plan, now), getpgrp());
        } else {
            output::say(&known.path, None, &known.still_waiting(plan, now));
        }
    }

    /// Whether the holder, which isn't watched, must be read for the next message. Returns `true` once for each message.
    pub(super) fn must_read(&mut self, known: &Known, now: BootTime) -> bool {
        let due = self.reads_at(known).is_some_and(|at| at <= now);
        if due {
            self.read_for = self.next_message();
        }
        due
    }

    /// When there is something to do if nothing happens before.
    pub(super) fn wake_at(&self, known: &Known) -> Option<BootTime> {
        [self.at, self.reads_at(known)].into_iter().flatten().min()
    }

    fn reads_at(&self, known: &Known) -> Option<BootTime> {
        let message = self.next_message().filter(|_| !known.is_sole && self.read_for != self.next_message());
        Some(message?.before(READ_AHEAD))
    }

    fn next_message(&self) -> Option<BootTime> {
        [self.at.filter(|_| !self.shows_line), self.give_up_at].into_iter().flatten().min()
    }
}

/// Shows the waits for the servers: in the line, as a step when what the servers say changes, and with `--progress`.
pub(super) fn tells(plan: &Plan) -> impl FnMut(Option<&ServerWait>) {
    let mut told = None;
    let mut at = plan.began;
    move |wait| {
        let Some(wait) = wait else {
            told = None;
            if plan.shows_line {
                output::draw_text(None, getpgrp());
            }
            return;
        };
        if plan.shows_line {
            let (path, wait) = (plan.first.clone(), wait.clone());
            output::draw_line(&Line::Servers { path, wait }, getpgrp());
        }
        let says = Some((wait.awaited, wait.servers.clone()));
        let progress = plan.progress.filter(|_| !plan.shows_line);
        if told != says {
            (told, at) = (says, clock::now() + progress.unwrap_or_default());
            output::say(&plan.first, None, &Message::AwaitsServers(wait.clone()));
        } else if let Some(progress) = progress.filter(|_| at <= clock::now()) {
            at = clock::now() + progress;
            output::say(&plan.first, None, &Message::StillAwaitsServers(wait.clone()));
        }
    }
}
