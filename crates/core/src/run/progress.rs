//! What a run waits for, in one sentence. The live line, a step of `-v`, `--progress`, the service manager, and the message
//! of a wait that ran out all say it.

use std::time::Duration;

use super::{Context, Effect, Notification};
use crate::message::Message;
use crate::path::LockPath;
use crate::protocol::ServerTime;
use crate::server_wait::{Awaited, NOTICEABLE, ServerWait};
use crate::time::BootTime;

const REDRAW: Duration = Duration::from_secs(1);

/// How much longer the start or stop of a service may take from each notice on, and how soon the next one follows: two may
/// be lost, as when the manager is busy.
pub(super) const EXTENSION: Duration = Duration::from_secs(30);
const RENEWAL: Duration = Duration::from_secs(10);

/// A wait for the servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) awaited: Awaited,
    pub(super) since: BootTime,
    /// When it ends in any case.
    pub(super) until: Option<BootTime>,
}

/// Where a wait may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Everywhere,
    /// Only as a step: the command runs, and the terminal and the state of the service are its own.
    AsStep,
    Nowhere,
}

/// A place in the queue of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: LockPath,
    /// From 1.
    pub(super) position: usize,
    /// A description of the contender just ahead.
    pub(super) predecessor: String,
    /// Since when that one holds the lock, if it says so.
    pub(super) held_since: Option<ServerTime>,
}

/// What is waited for, apart from the times. It is told again when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Queue(Place),
    /// What for, since when, and what each server said.
    Servers(Awaited, BootTime, Vec<String>),
}

/// The present wait of a run, and where it was told.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The place in the queue, while other contenders are waited for.
    pub(super) place: Option<Place>,
    /// What each server said when it was last asked, since there is no connection.
    servers: Vec<String>,
    /// When a wait for the servers will have become long.
    noticed_at: Option<BootTime>,
    /// What was told last.
    told: Option<Subject>,
    /// Whether the line is shown.
    has_line: bool,
    /// When to show the wait next: in the line, or in a message of `--progress`.
    show_at: Option<BootTime>,
    /// When to tell the service manager that the wait goes on.
    notice_at: Option<BootTime>,
}

impl Progress {
    /// Notes what each server says while there is no connection.
    pub(super) fn servers_say(&mut self, servers: Vec<String>) {
        self.servers = servers;
    }

    /// When to [update](Self::update) next.
    pub(super) fn wake_at(&self) -> Option<BootTime> {
        [self.noticed_at, self.show_at, self.notice_at].into_iter().flatten().min()
    }

    /// Takes in the present `wait` for the servers, if there is one, and tells what is waited for where that is due.
    pub(super) fn update(&mut self, wait: Option<Wait>, shown: Shown, ctx: &mut Context<'_>) {
        if !wait.is_some_and(|wait| matches!(wait.awaited, Awaited::Session | Awaited::Connection)) {
            self.servers.clear();
        }
        // A short wait for the servers isn't worth a word.
        let noticed_at = wait.map(|wait| wait.since + NOTICEABLE);
        self.noticed_at = noticed_at.filter(|&at| at > ctx.now);
        let wait = wait.filter(|_| self.noticed_at.is_none());
        let subject = match (wait, &self.place) {
            (Some(wait), _) => Some(Subject::Servers(wait.awaited, wait.since, self.servers.clone())),
            // Since when that one holds the lock comes to be known, and changes nothing.
            (None, place) => place.clone().map(|place| Subject::Queue(Place { held_since: None, ..place })),
        };
        let is_new = subject != self.told;
        self.told = subject;
        if self.told.is_none() || shown == Shown::Nowhere {
            (self.show_at, self.notice_at) = (None, None);
            return self.erase(ctx);
        }
        if is_new {
            ctx.say_of_current(self.message(wait, shown, ctx));
        }
        if shown == Shown::Everywhere {
            self.show(wait, is_new, ctx);
            if is_new || self.notice_at.is_some_and(|at| at <= ctx.now) {
                self.notice_at = ctx.plan.notifies.then_some(ctx.now + RENEWAL);
                tell_manager(&self.sentence(wait, ctx), EXTENSION, ctx);
            }
        }
    }

    /// What is waited for, in a sentence. `wait`: the servers, and not other contenders.
    pub(super) fn sentence(&self, wait: Option<Wait>, ctx: &Context<'_>) -> String {
        self.message(wait, Shown::Everywhere, ctx).text
    }

    fn message(&self, wait: Option<Wait>, shown: Shown, ctx: &Context<'_>) -> Message {
        let left = |until: BootTime| Some(ctx.now.until(until)).filter(|left| !left.is_zero());
        match (wait, &self.place) {
            (None, Some(Place { position, predecessor, .. })) => {
                let (waited, left) = (ctx.now.since(ctx.plan.began), ctx.plan.give_up_at.and_then(left));
                Message::waiting(*position, predecessor, waited, left)
            }
            (wait, _) => {
                let wait = ServerWait {
                    awaited: wait.map_or(Awaited::Answer, |wait| wait.awaited),
                    waited: wait.map_or(Duration::ZERO, |wait| ctx.now.since(wait.since)),
                    left: wait.and_then(|wait| wait.until).and_then(left),
                    holds: shown == Shown::AsStep,
                    hosts: ctx.plan.hosts.clone(),
                    servers: self.servers.clone(),
                };
                Message::step("awaiting_servers", wait.to_string())
                    .with("awaited", wait.awaited.word())
                    .with_span("awaited_for", wait.waited)
                    .with_span("left", wait.left)
                    .with("servers", wait.servers)
            }
        }
    }

    /// Shows the wait in the live line, or in a message of `--progress`.
    fn show(&mut self, wait: Option<Wait>, is_new: bool, ctx: &mut Context<'_>) {
        let is_due = self.show_at.is_none_or(|at| at <= ctx.now);
        if ctx.plan.shows_line && (is_new || is_due) {
            // The times in it change, and the job may have come to the foreground.
            self.has_line = true;
            self.show_at = Some(ctx.now + REDRAW);
            ctx.emit(Effect::Line(Some((ctx.path_to_show(), self.sentence(wait, ctx)))));
        } else if !ctx.plan.shows_line
            && let Some(interval) = ctx.plan.progress
            && *self.show_at.get_or_insert(ctx.now + interval) <= ctx.now
        {
            self.show_at = Some(ctx.now + interval);
            ctx.say_of_current(self.message(wait, Shown::Everywhere, ctx).again());
        }
    }

    /// Removes the line.
    pub(super) fn erase(&mut self, ctx: &mut Context<'_>) {
        if std::mem::take(&mut self.has_line) {
            ctx.emit(Effect::Line(None));
        }
    }
}

/// Tells the service manager the state of zklock, and that the start or stop of the service may take this much longer. It is
/// the state of the service only if no zklock around this one has a command, which this one is a part of.
pub(super) fn tell_manager(state: &str, extend: Duration, ctx: &mut Context<'_>) {
    if ctx.plan.notifies {
        let status = ctx.plan.outer.is_empty().then(|| format!("{}: {state}", ctx.path_to_show()));
        ctx.emit(Effect::Notify(Notification { status, extend }));
    }
}
