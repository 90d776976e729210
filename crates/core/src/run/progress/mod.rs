//! What zklock shows of a long wait: a live line on a terminal, a message now and then with `--progress`, and a step
//! once a wait for the servers is long.
//!
//! Every wait of a run is shown here, whatever its phase. Times are computed locally, from the moment at which the
//! server created zklock's own node. [`queue`] has what a wait in the queue costs the servers.

mod queue;

use std::time::Duration;

use self::queue::QueueProgress;
use super::claim::SessionState;
use super::{Context, Effect, Line, Plan, Seen};
use crate::message::Message;
use crate::path::{LockPath, NodePath};
use crate::protocol::{RequestError, ServerTime};
use crate::server_wait::{Awaited, NOTICEABLE, ServerWait, awaiting, said};
use crate::time::BootTime;

const REDRAW: Duration = Duration::from_secs(1);

/// How often the holder is read again for the service manager. A holder that comes and goes meanwhile isn't told.
const REFRESH: Duration = Duration::from_mins(1);

/// A wait for the servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) awaited: Awaited,
    pub(super) since: BootTime,
    /// When it ends in any case.
    pub(super) until: Option<BootTime>,
}

impl Wait {
    fn is_of(&self, other: &Self) -> bool {
        (self.awaited, self.since) == (other.awaited, other.since)
    }

    fn noticed_at(&self) -> BootTime {
        self.since + NOTICEABLE
    }
}

/// Where a wait may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Everywhere,
    /// Only as a step: the command runs, and the terminal is its own.
    AsStep,
    Nowhere,
}

/// The waits of a run, and when to show the present one.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When to show it next in the line, or in a message of `--progress`.
    at: Option<BootTime>,
    /// Whether a line is on the screen.
    has_line: bool,
    /// This host's clock and the servers' at one moment: when zklock's node was created.
    clocks: Option<(BootTime, ServerTime)>,
    /// The wait for other contenders.
    queue: Option<QueueProgress>,
    /// When the holder must be known again for the service manager.
    refresh_at: Option<BootTime>,
    /// The wait for the servers.
    wait: Option<Wait>,
    /// What each server said when it was last asked, since there is no connection.
    servers: Vec<String>,
    /// What each server had said when this wait was last reported as a step.
    reported: Option<Vec<String>>,
}

/// The time between two redraws of the line, or between two messages; `None` if there are neither.
fn interval(plan: &Plan) -> Option<Duration> {
    if plan.shows_line { Some(REDRAW) } else { plan.progress }
}

impl Progress {
    /// Notes that zklock's node was created at this time on the servers' clock.
    pub(super) fn queued(&mut self, created: ServerTime, now: BootTime) {
        self.clocks = Some((now, created));
    }

    /// Notes the contenders `ahead`: the `nearest` one, with its node, and the node of the `holder`.
    pub(super) fn waiting(
        &mut self,
        path: LockPath,
        nearest: (NodePath, Seen),
        ahead: usize,
        holder: NodePath,
        ctx: &mut Context<'_>,
    ) {
        let queue = QueueProgress::new(path, nearest, ahead, holder);
        if ctx.plan.shows_line {
            self.at = Some(ctx.now);
        }
        if ctx.plan.always_shows_holder() {
            queue.read_holder(ctx);
        }
        self.queue = Some(queue);
    }

    /// No other contender is waited for any more.
    pub(super) fn leaves_queue(&mut self) {
        self.queue = None;
    }

    pub(super) fn is_in_queue(&self) -> bool {
        self.queue.is_some()
    }

    /// Removes the line: something else is about to be written.
    pub(super) fn erase(&mut self, ctx: &mut Context<'_>) {
        if std::mem::take(&mut self.has_line) {
            ctx.emit(Effect::Line(None));
        }
    }

    /// Notes what each server says, while there is no connection.
    pub(super) fn servers_say(&mut self, servers: Vec<String>) {
        self.servers = servers;
    }

    /// Whether the present wait for the servers was reported.
    pub(super) fn is_reported(&self) -> bool {
        self.reported.is_some()
    }

    /// When to [update](Self::update) next.
    pub(super) fn wake_at(&self) -> Option<BootTime> {
        let notice = self.wait.filter(|_| self.reported.is_none()).map(|wait| wait.noticed_at());
        let read = self.queue.as_ref().and_then(QueueProgress::reads_at);
        [notice, self.at, read].into_iter().flatten().min()
    }

    /// Takes in the present `wait` for the servers, if there is one, and shows the wait if it is time.
    pub(super) fn update(&mut self, wait: Option<Wait>, shown: Shown, ctx: &mut Context<'_>) {
        self.take(wait, ctx);
        let long = self.wait.filter(|wait| wait.noticed_at() <= ctx.now);
        if let Some(wait) = long
            && self.reported.as_ref() != Some(&self.servers)
        {
            self.reported = Some(self.servers.clone());
            if shown != Shown::Nowhere {
                ctx.say_of_current(Message::AwaitsServers(self.described(wait, shown, ctx)));
            }
        }
        self.show_if_due(long, shown, ctx);
        if let Some(queue) = &mut self.queue
            && long.is_none()
        {
            let message = self.at.filter(|_| !ctx.plan.shows_line);
            if ctx.plan.notifies && self.refresh_at.is_none_or(|at| at <= ctx.now) {
                self.refresh_at = Some(ctx.now + REFRESH);
            }
            queue.read_ahead([message, ctx.plan.give_up_at, self.refresh_at], ctx);
        }
    }

    /// The holder's `node` was read.
    pub(super) fn holder(
        &mut self,
        node: &NodePath,
        result: Result<Seen, RequestError>,
        ctx: &mut Context<'_>,
    ) {
        let Some(queue) = &mut self.queue else { return };
        if queue.holder(node, result, ctx) && ctx.plan.shows_line {
            self.at = Some(ctx.now);
        }
    }

    /// The lock's children were listed, if that worked. Returns whether it was to find the holder.
    pub(super) fn listed(&mut self, children: Option<&[String]>, ctx: &mut Context<'_>) -> bool {
        self.queue.as_mut().is_some_and(|queue| queue.listed(children, ctx))
    }

    /// The holder of this lock, if it is known and zklock waits for it.
    pub(super) fn known_holder(&self, lock: &LockPath) -> Option<String> {
        let queue = self.queue.as_ref().filter(|queue| queue.is_of(lock))?;
        queue.known_holder().map(|seen| seen.who.clone())
    }

    /// The wait in one line without spans of time, as it may be shown for hours: zklock's state for the service manager.
    pub(super) fn status(&self, hosts: &str, now: BootTime) -> Option<String> {
        // Before there is a session, there is nothing else to tell.
        let wait = self.wait.filter(|wait| wait.awaited == Awaited::Session || wait.noticed_at() <= now);
        let wait = wait.map(|wait| awaiting(wait.awaited, hosts, &[]) + &said(&self.servers));
        match (&self.queue, wait) {
            (Some(queue), Some(wait)) => Some(format!("{}; {wait}", queue.status())),
            (Some(queue), None) => Some(queue.status()),
            (None, wait) => wait,
        }
    }

    fn take(&mut self, wait: Option<Wait>, ctx: &mut Context<'_>) {
        let ended = self.wait.filter(|before| wait.is_none_or(|wait| !wait.is_of(before)));
        self.wait = wait;
        let Some(ended) = ended else { return };
        let was_reported = self.reported.take().is_some();
        if wait.is_none_or(|wait| wait.awaited == Awaited::Answer) {
            self.servers.clear();
        }
        let is_answered = ctx.state.claim.session().is_some_and(|session| session.heard() > ended.since);
        if was_reported && is_answered && ended.awaited == Awaited::Answer && wait.is_none() {
            ctx.say_of_current(Message::ServersAnswer { after: ctx.now.since(ended.since) });
        }
    }

    fn described(&self, wait: Wait, shown: Shown, ctx: &Context<'_>) -> ServerWait {
        ServerWait {
            awaited: wait.awaited,
            waited: ctx.now.since(wait.since),
            left: wait.until.map(|until| ctx.now.until(until)),
            holds: shown == Shown::AsStep,
            hosts: ctx.plan.hosts.clone(),
            servers: self.servers.clone(),
        }
    }

    fn show_if_due(&mut self, long: Option<Wait>, shown: Shown, ctx: &mut Context<'_>) {
        let interval = interval(ctx.plan).filter(|_| self.queue.is_some() || long.is_some());
        let Some(interval) = interval.filter(|_| shown != Shown::AsStep) else {
            self.at = None;
            self.erase(ctx);
            return;
        };
        let began = long.map_or(ctx.now, |wait| wait.since);
        let first = if ctx.plan.shows_line { ctx.now } else { ctx.now.max(began + interval) };
        if *self.at.get_or_insert(first) > ctx.now {
            return;
        }
        self.at = Some(ctx.now + interval);
        if shown == Shown::Everywhere {
            self.show(long, ctx);
        }
    }

    /// Shows the wait for other contenders, or else for the servers.
    fn show(&mut self, long: Option<Wait>, ctx: &mut Context<'_>) {
        let wait = long.map(|wait| self.described(wait, Shown::Everywhere, ctx));
        let heard = ctx.state.claim.session().map(SessionState::heard);
        // While no server answers, nothing is known of the queue.
        let seen_at = heard.filter(|_| wait.is_some()).unwrap_or(ctx.now);
        let servers_then = self.servers_time(seen_at);
        match (&self.queue, wait) {
            (Some(queue), wait) if ctx.plan.shows_line => {
                let line = queue.line(seen_at, servers_then, wait.as_ref(), ctx);
                self.draw(Line::Queue(line), ctx);
            }
            (Some(queue), wait) => queue.say(seen_at, servers_then, wait.is_some(), ctx),
            (None, Some(wait)) if ctx.plan.shows_line => {
                let path = ctx.current_lock().unwrap_or_else(|| ctx.plan.first.clone());
                self.draw(Line::Servers { path, wait }, ctx);
            }
            (None, Some(wait)) => ctx.say_of_current(Message::StillAwaitsServers(wait)),
            (None, None) => {}
        }
    }

    fn draw(&mut self, line: Line, ctx: &mut Context<'_>) {
        self.has_line = true;
        ctx.emit(Effect::Line(Some(line)));
    }

    /// The servers' clock at this moment.
    fn servers_time(&self, moment: BootTime) -> Option<ServerTime> {
        self.clocks.map(|(host, servers)| {
            let since = i64::try_from(moment.since(host).as_millis()).unwrap_or(i64::MAX);
            ServerTime(servers.0.saturating_add(since))
        })
    }
}
