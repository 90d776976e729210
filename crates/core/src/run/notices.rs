//! What the service manager is told (`sd_notify(3)`): the state of zklock in one line, and that the start or the stop of the
//! service takes longer, as long as zklock is at work and not the command.
//!
//! Readiness is the command's to report, and while it runs, so is the state.

use std::time::Duration;

use super::{Context, Effect, Notice, Plan};
use crate::path::LockPath;
use crate::time::BootTime;

/// How much longer the start or stop may take from each notice on, and how soon the next one follows: two may be lost, as
/// when the manager is busy.
const EXTENSION: Duration = Duration::from_secs(30);
const RENEWAL: Duration = Duration::from_secs(10);

/// How long the command has to report that it is ready, at least: systemd's own default for the start of a service. A
/// standby may have waited for longer than that.
const START: Duration = Duration::from_secs(90);

/// What there is to tell at one moment.
#[derive(Debug)]
pub(super) enum Activity {
    /// zklock is at work, in this state; `None`: in the same as before.
    Own(Option<String>),
    /// The command runs. It may have lost its lock, as this says.
    Command(Option<String>),
    /// Nothing: the run hasn't begun, or is over.
    Nothing,
}

/// The last notice.
#[derive(Debug, Default)]
pub(super) struct Notices {
    status: Option<String>,
    renew_at: Option<BootTime>,
}

impl Notices {
    /// Tells the manager what is new, or the same again before its time is over.
    pub(super) fn tell(&mut self, activity: Activity, plan: &Plan, now: BootTime, out: &mut Vec<Effect>) {
        let (status, is_own) = match activity {
            Activity::Own(status) => (status, true),
            Activity::Command(status) => (status, false),
            Activity::Nothing => (None, false),
        };
        let is_new = status.is_some() && self.status != status;
        if is_new {
            self.status = status;
        }
        if !is_own {
            self.renew_at = None;
        }
        let is_due = is_own && self.status.is_some() && self.renew_at.is_none_or(|at| at <= now);
        if is_new || is_due {
            self.renew_at = is_own.then_some(now + RENEWAL);
            out.extend(self.notice(is_own.then_some(EXTENSION), plan));
        }
    }

    /// The command is about to be started under these locks, with their fencing tokens.
    pub(super) fn command_starts(locks: &[(LockPath, i64)], ctx: &mut Context<'_>) {
        if !ctx.plan.notifies {
            return;
        }
        let runs = |(path, token): &(LockPath, i64)| format!("{path}: runs under token {token}");
        let notices = &mut ctx.state.notices;
        notices.status = Some(locks.iter().map(runs).collect::<Vec<_>>().join("; "));
        notices.renew_at = None;
        let notice = notices.notice(Some(START), ctx.plan);
        ctx.out.extend(notice);
    }

    /// When to tell the manager the same again.
    pub(super) fn wake_at(&self) -> Option<BootTime> {
        self.renew_at
    }

    /// The state is that of the service only if no zklock around this one has a command, which this one is a part of.
    fn notice(&self, extend: Option<Duration>, plan: &Plan) -> Option<Effect> {
        let status = self.status.clone().filter(|_| plan.outer.is_empty());
        (status.is_some() || extend.is_some()).then_some(Effect::Notify(Notice { status, extend }))
    }
}
