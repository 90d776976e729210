//! Getting the locks: connect, queue, wait; until they are ours or something says stop.

use std::time::Duration;

use anyhow::{Result, bail};
use nix::sys::signal::Signal;

use crate::claim::{Claim, Notice};
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::lock::contender::{News, Trouble};
use crate::lock::once::{Once, Verdict};
use crate::lock::pace::{Start, smallest_timeout};
use crate::lock::path::LockPath;
use crate::lock::record::{describe, printable};
use crate::lock::set::Set;
use crate::release::ends_us;
use crate::ui::{self, Seen, WaitingLine};
use crate::zk::{Diagnosis, Failure, Hosts, Reply};

/// How long to try, and what to be content with.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// When it began.
    pub began: BootTime,
    /// When to give up waiting; `None` is never.
    pub deadline: Option<BootTime>,
    /// How long an attempt may take to have a connection and a first answer, where there is no deadline.
    pub connect_timeout: Duration,
    /// Give up as soon as the lock is seen busy.
    pub nonblock: bool,
    /// What a forced stop of the command would take: a lease shorter than that is none.
    pub kill_after: Duration,
}

impl Limits {
    /// When to give up connecting for the first time.
    pub fn connect_by(&self) -> BootTime {
        self.deadline.unwrap_or(self.began + self.connect_timeout)
    }

    /// What to say when no session could be had.
    pub fn unreachable(&self, diagnoses: &[Diagnosis]) -> String {
        let limit = match self.deadline {
            Some(deadline) => deadline.since(self.began),
            None => self.connect_timeout,
        };
        ui::unreachable(diagnoses, limit)
    }
}

/// After its deadline the client may take this long to say why there is no session.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every lock is ours, and the lease is fresh.
    Held,
    /// Somebody else holds it. That has been said.
    Busy,
    /// It is ours, but the command succeeded not long ago. That has been said.
    Recent,
    /// Somebody wants us to end.
    Interrupted(Signal),
}

/// Waits for the locks. Whatever the outcome, the claim has still to be released.
pub fn acquire(
    claim: &mut Claim,
    events: &Events,
    hosts: &Hosts,
    limits: Limits,
    once: Option<Once>,
) -> Result<Outcome> {
    let mut acquisition = Acquisition {
        hosts,
        limits,
        once,
        line: WaitingLine::new(limits.began, limits.deadline, claim.worker().group),
        stop: Stop::Not,
        connected: false,
        connect_by: Some(limits.connect_by()),
        waiting_for: None,
        turn: Turn::Unsaid,
        node_gone: false,
    };
    loop {
        // First whatever has already happened: a signal or a loss that came with the lock wins.
        while let Some(event) = events.pending() {
            if let Some(outcome) = acquisition.take(claim, event)? {
                return Ok(outcome);
            }
        }
        let now = BootTime::now();
        claim.revive_lease(now);
        claim.confirm_if_due(now);
        acquisition.give_place_up_if_stopped(claim);
        if acquisition.is_ours(claim, now)?
            && let Some(outcome) = acquisition.is_due(claim)
        {
            acquisition.line.end();
            if outcome == Outcome::Held && acquisition.awaits_words(claim) {
                continue;
            }
            return Ok(outcome);
        }
        let give_up_at = acquisition.give_up_at();
        if give_up_at.is_some_and(|at| at <= now) {
            return acquisition.out_of_time(claim);
        }
        let redraw = acquisition.line.draw();
        let wake = [give_up_at, claim.next_due(), redraw].into_iter().flatten().min();
        let Some(event) = events.next(wake)? else { continue };
        if let Some(outcome) = acquisition.take(claim, event)? {
            return Ok(outcome);
        }
    }
}

struct Acquisition<'a> {
    hosts: &'a Hosts,
    limits: Limits,
    /// With `--once-per`: whether the command is to run at all.
    once: Option<Once>,
    /// What a terminal shows meanwhile.
    line: WaitingLine,
    connected: bool,
    /// When the client is to give up connecting.
    connect_by: Option<BootTime>,
    /// The contender just ahead, as people know it.
    waiting_for: Option<String>,
    turn: Turn,
    /// Our node is gone; whether with our session or by somebody's hand is asked.
    node_gone: bool,
    stop: Stop,
}

/// How far it is once every lock is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Nothing was said of it, or it hasn't come.
    Unsaid,
    /// There is no fresh lease yet. That has been said.
    AwaitsLease,
    /// What was said has had its time to be written.
    AwaitedWords,
}

/// Whether zklock is stopped, as by Ctrl-Z, and what that means for its place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It isn't.
    Not,
    /// It is, and keeps its place until its turn comes.
    InQueue,
    /// Its turn came: the place is being given up, since nobody may wait for somebody who is stopped. Meanwhile
    /// zklock may have been told to go on.
    Leaving { goes_on: bool },
    /// It has no session. Another begins when it goes on.
    Away,
}

impl Acquisition<'_> {
    /// All held, on a line that is quick enough, and under a lease that lasts until the next answer. A waiter confirms
    /// while it waits, so that it is fresh as a rule; else the confirmations that are under way make it so.
    fn is_ours(&mut self, claim: &mut Claim, now: BootTime) -> Result<bool> {
        if self.node_gone || self.stop != Stop::Not || !claim.set().is_some_and(Set::all_held) {
            return Ok(false);
        }
        // What came while words were written may be a request to give up, whose answer is on its way.
        if self.turn == Turn::AwaitedWords && claim.set().is_some_and(Set::any_unread) {
            return Ok(false);
        }
        match claim.start(self.limits.kill_after, now) {
            Start::Now => return Ok(true),
            Start::NotYet => {}
            Start::AskAgain => claim.confirm_soon(now),
            Start::Never(trip) => bail!(self.too_slow(claim, trip)),
        }
        if self.turn == Turn::Unsaid {
            log::debug!("first in line, waiting for a fresh lease");
            self.turn = Turn::AwaitsLease;
        }
        Ok(false)
    }

    /// What was said shall be on the screen, and the waiting line off it, before the command writes. Whether time went
    /// by for that: then the lease has to be looked at once more.
    fn awaits_words(&mut self, claim: &mut Claim) -> bool {
        let before = std::mem::replace(&mut self.turn, Turn::AwaitedWords);
        before != Turn::AwaitedWords && ui::drain_before_others(claim.time_to_spare())
    }

    fn too_slow(&self, claim: &mut Claim, trip: Duration) -> String {
        let timeout = claim.lease().map(|lease| lease.timeout()).unwrap_or_default();
        let (taken, given) = (ui::time(trip), ui::time(timeout));
        let remedy = match smallest_timeout(trip, self.limits.kill_after) {
            Some(enough) if enough <= timeout => "a longer --session-timeout may help".to_owned(),
            Some(enough) => format!("it takes --session-timeout {} or more", enough.as_secs()),
            None => "no session timeout is long enough for that".to_owned(),
        };
        format!(
            "the line to {} is too slow: an answer takes {taken}, and with a session timeout of {given} the command \
             would be stopped for want of answers. It was not started; {remedy}",
            self.hosts
        )
    }

    /// The lock is ours; whether the command is to run. `None`: that is being asked.
    fn is_due(&mut self, claim: &Claim) -> Option<Outcome> {
        let (Some(once), Some(set)) = (&mut self.once, claim.set()) else { return Some(Outcome::Held) };
        if !once.has_begun() {
            let (node, data) = set.first()?;
            once.begin(node, &data).into_iter().for_each(|request| claim.ask_aside(request));
        }
        match once.verdict()? {
            Verdict::Due => Some(Outcome::Held),
            Verdict::Recent { ago, by } => {
                let by = by.map(|last| format!(" on {}", printable(&last.by.host))).unwrap_or_default();
                let (ago, period) = (ui::time(ago), ui::time(once.period()));
                if let Some(path) = set.path(0) {
                    ui::warn(
                        path,
                        format_args!(
                            "skipped: the command succeeded {ago} ago{by}, and once per {period} is enough"
                        ),
                    );
                }
                Some(Outcome::Recent)
            }
        }
    }

    /// Connecting is the client's affair up to its own deadline, when it says what is wrong. It is trusted for a
    /// moment more and no longer: servers have been seen to keep it too busy to notice the time.
    fn give_up_at(&self) -> Option<BootTime> {
        if self.connected {
            return self.try_until();
        }
        self.connect_by.map(|deadline| deadline + LAST_WORDS)
    }

    /// Whoever waits without limit waits for servers as well; whoever doesn't wait has only so long for them.
    fn try_until(&self) -> Option<BootTime> {
        let Limits { began, deadline, connect_timeout, nonblock, .. } = self.limits;
        deadline.or_else(|| nonblock.then(|| began + connect_timeout))
    }

    fn out_of_time(&self, claim: &mut Claim) -> Result<Outcome> {
        // A waiter confirms all the time: an answer also says that nothing has moved in the queue before it.
        let heard = claim.heard().map(|heard| BootTime::now().since(heard));
        let silence = heard.zip(claim.lease().map(|lease| lease.timeout()));
        let waited = ui::time(BootTime::now().since(self.limits.began));
        match claim.set() {
            Some(set) if matches!(self.stop, Stop::Leaving { .. } | Stop::Away) => {
                let path = set.path(set.current()).map(ToString::to_string).unwrap_or_default();
                let text = format!("gave up after {waited}: its turn came while zklock was stopped");
                if !set.seen_busy() {
                    bail!(text);
                }
                log::warn!("{path}: busy: {text}");
                Ok(Outcome::Busy)
            }
            Some(set) if set.all_held() => bail!(
                "first in line, but the ensemble didn't confirm it often enough within {waited} to run anything; \
                 is it overloaded?"
            ),
            Some(set) if set.seen_busy() => {
                let ahead = self.waiting_for.as_deref().unwrap_or("another contender");
                if let Some(silence) = silence.filter(|(silence, timeout)| *silence > *timeout / 2) {
                    let silence = ui::time(silence.0);
                    bail!(
                        "gave up after {waited}: last seen busy {silence} ago, behind {ahead}, and no answer since"
                    );
                }
                if let Some(path) = set.path(set.current()) {
                    ui::warn(path, format_args!("busy: gave up after {waited} of waiting for {ahead}"));
                }
                Ok(Outcome::Busy)
            }
            _ if !self.connected => bail!(
                "{} kept the client busy for {waited} without giving it a session; is it a ZooKeeper?",
                self.hosts
            ),
            _ => bail!(
                "connected to {}, but got no answer about the lock within {waited}; is it overloaded?",
                self.hosts
            ),
        }
    }

    fn take(&mut self, claim: &mut Claim, event: Event) -> Result<Option<Outcome>> {
        match event {
            Event::Signal(signal) if ends_us(signal) => return Ok(Some(Outcome::Interrupted(signal))),
            // Nobody is left to answer for us.
            Event::MonitorDied => return Ok(Some(Outcome::Interrupted(Signal::SIGKILL))),
            Event::Signal(Signal::SIGTSTP) => self.suspend(claim),
            Event::Signal(Signal::SIGCONT) | Event::NotStopped => self.go_on(claim)?,
            Event::Signal(signal) => log::debug!("{signal} is ignored: no command is running yet"),
            Event::Child => {}
            event => {
                for notice in claim.take(event) {
                    if let Some(outcome) = self.notice(claim, notice)? {
                        return Ok(Some(outcome));
                    }
                }
            }
        }
        Ok(None)
    }

    fn notice(&mut self, claim: &mut Claim, notice: Notice) -> Result<Option<Outcome>> {
        match notice {
            Notice::Connected => self.connected = true,
            Notice::Unreachable(diagnoses) => bail!(self.limits.unreachable(&diagnoses)),
            Notice::Lost(Failure::AuthFailed) => bail!("{}", self.refused(claim)),
            // Not the end of a session, but of the client: it would happen again.
            Notice::Lost(failure @ Failure::Other(_)) => bail!(failure),
            Notice::Lost(_) | Notice::Closed if self.is_leaving() => {
                let goes_on = self.stop == Stop::Leaving { goes_on: true };
                self.stop = Stop::Away;
                if goes_on {
                    self.go_on(claim)?;
                }
            }
            // What our node's deletion leads to, we have done ourselves.
            _ if self.is_leaving() => {}
            Notice::Lost(failure) => self.begin_again(claim, &failure)?,
            Notice::NodeGone => bail!(Trouble::Deleted),
            // The session lives, so that it can't have taken the node along. Another has its name now.
            Notice::Confirmed if self.node_gone => bail!(Trouble::Deleted),
            Notice::Confirmed => {}
            Notice::Disconnected => log::debug!("connection lost while waiting"),
            Notice::Reconnected => log::debug!("connected again"),
            Notice::Closed => bail!("the session was closed while we were waiting"),
            Notice::Lock(path, news) => return self.news(claim, &path, news),
            Notice::Aside(Reply::Read(path, read)) if self.line.asked_for(&path) => self.line.answered(read),
            Notice::Aside(reply) => {
                if let Some(once) = &mut self.once {
                    once.take(reply)?.into_iter().for_each(|request| claim.ask_aside(request));
                }
            }
        }
        Ok(None)
    }

    fn news(&mut self, claim: &mut Claim, path: &LockPath, news: News) -> Result<Option<Outcome>> {
        match news {
            News::Queued(node) => {
                ui::step(path, format_args!("queued as {}", node.path));
                self.line.queued(node.created);
                if self.stop != Stop::Not {
                    claim.mark_stopped(true);
                }
            }
            News::Waiting { predecessor, data, since, ahead, holder } => {
                let who = describe(&predecessor, &data);
                ui::step(path, format_args!("waiting for {who}, {ahead} ahead"));
                let nearest = Seen { who: who.clone(), since };
                if let Some(request) =
                    self.line.waiting(path, nearest, ahead, (holder != predecessor).then_some(holder))
                {
                    claim.ask_aside(request);
                }
                self.waiting_for = Some(who);
            }
            // It isn't taken: `give_place_up_if_stopped`.
            News::Held if self.stop != Stop::Not => {}
            News::Held => {
                self.line.end();
                let node = claim.set().and_then(|set| set.nodes().find(|(lock, _)| *lock == path));
                let token = node.map(|(_, node)| node.fencing_token).unwrap_or_default();
                let after = ui::time(BootTime::now().since(self.limits.began));
                ui::step(path, format_args!("acquired after {after}, fencing token {token}"));
            }
            News::Busy { holder, data } => {
                ui::warn(path, format_args!("busy: held by {}", describe(&holder, &data)));
                return Ok(Some(Outcome::Busy));
            }
            News::Revoked(by) => {
                bail!("our place in the queue was revoked by {}", by.as_deref().unwrap_or("somebody"))
            }
            // The watch that tells so fires too when the session ends, and may be read first after a freeze. The
            // answer to a confirmation tells which: no node, or no session.
            News::Failed(Trouble::Deleted) => {
                self.node_gone = true;
                claim.confirm_soon(BootTime::now());
            }
            News::Failed(trouble) => bail!(trouble),
        }
        Ok(None)
    }

    /// zklock is to stop, as by Ctrl-Z. Nothing runs yet that could stop beside us; the worker goes on, and so does its
    /// session.
    fn suspend(&mut self, claim: &mut Claim) {
        self.stop = match self.stop {
            Stop::Not => {
                claim.mark_stopped(true);
                Stop::InQueue
            }
            Stop::Leaving { .. } => Stop::Leaving { goes_on: false },
            other => other,
        };
        self.line.clear();
        // Before the shell's prompt.
        ui::drain_before_others(claim.time_to_spare());
        claim.worker().stop(nix::libc::SIGTSTP, false);
    }

    fn go_on(&mut self, claim: &mut Claim) -> Result<()> {
        match self.stop {
            Stop::Not => {}
            Stop::InQueue => {
                self.stop = Stop::Not;
                claim.mark_stopped(false);
            }
            // As soon as that is done.
            Stop::Leaving { .. } => self.stop = Stop::Leaving { goes_on: true },
            Stop::Away => {
                if let Some(path) = claim.set().and_then(|set| set.path(set.current())) {
                    ui::warn(path, "its turn came while zklock was stopped; queueing again at the end");
                }
                self.stop = Stop::Not;
                self.reopen(claim)?;
            }
        }
        Ok(())
    }

    fn is_leaving(&self) -> bool {
        matches!(self.stop, Stop::Leaving { .. })
    }

    /// A waiter that is stopped is nobody's turn: it lets the others pass.
    fn give_place_up_if_stopped(&mut self, claim: &Claim) {
        if self.stop == Stop::InQueue
            && let Some(set) = claim.set().filter(|set| set.any_held())
        {
            if let Some(path) = set.path(set.current()) {
                ui::step(
                    path,
                    "its turn came while zklock was stopped: left the queue until it is continued",
                );
            }
            self.stop = Stop::Leaving { goes_on: false };
            self.line.end();
            claim.release();
        }
    }

    /// The session ended while nothing was run yet: nothing is lost but our place in the queue.
    fn begin_again(&mut self, claim: &mut Claim, failure: &Failure) -> Result<()> {
        if let Some(path) = claim.set().and_then(|set| set.path(set.current())) {
            ui::warn(
                path,
                format_args!("the session was lost while waiting ({failure}); queueing again at the end"),
            );
        }
        self.reopen(claim)
    }

    fn reopen(&mut self, claim: &mut Claim) -> Result<()> {
        (self.connected, self.connect_by) = (false, self.try_until());
        self.turn = Turn::Unsaid;
        self.node_gone = false;
        self.line.end();
        self.once.iter_mut().for_each(Once::begin_again);
        claim.reopen(self.try_until())?;
        Ok(())
    }

    fn refused(&self, claim: &Claim) -> String {
        let hosts = self.hosts;
        if claim.settings().security.credentials.is_empty() {
            format!("{hosts} demands credentials: give them with --auth-file FILE or ZKLOCK_AUTH")
        } else {
            format!(
                "{hosts} refused the credentials: check the lines of --auth-file and ZKLOCK_AUTH, \
                 and whether the server knows their scheme"
            )
        }
    }
}
