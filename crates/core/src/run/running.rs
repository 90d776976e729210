//! While the command runs under the lock: signals, the lease, and the end of the command.

use std::time::Duration;

use super::JobEffect::LookAtChildren;
use super::progress::{EXTENSION, Shown, Wait, tell_manager};
use super::supervisor::{JobEnd, JobInput, Supervisor};
use super::{Context, Effect, Input, KillRound, LONGEST_REST, LeaderChange, Next, Plan, Reach};
use crate::exit::{self, Exit};
use crate::lease::Lease;
use crate::loss::{Loss, Silence};
use crate::message::{Level, Message};
use crate::path::LockPath;
use crate::queue::contender::ContentionError;
use crate::queue::event::Event;
use crate::run::claim::{Claim, Session};
use crate::server_wait::NOTICEABLE;
use crate::signal::{self, SIGTTIN, SIGTTOU, ends_waiting};
use crate::text::time;
use crate::time::BootTime;

/// How long the command runs before zklock writes into its node since when it holds the lock: short commands pay
/// nothing for it.
const RECORD_HELD_AFTER: Duration = Duration::from_secs(1);

/// How long the monitor leaves KILL to this process. By then a process that is left is known to be stuck.
const LONGEST_KILLING: Duration = Duration::from_secs(2);

/// How often zklock checks the rest of the command's group, whose end no event may announce.
const LOOK_AT_THE_REST: Duration = Duration::from_millis(100);

/// The running command, its lease, and what is known of its loss.
#[derive(Debug)]
pub(super) struct Running {
    supervisor: Supervisor,
    /// The first loss, and the lock to name with it.
    lost: Option<(Loss, LockPath)>,
    /// Some loss was one after which another contender may hold the lock already.
    surely_lost: bool,
    /// When to kill again, whether a process is left that may never end, and when the first round was.
    kill_again_at: Option<BootTime>,
    stuck: bool,
    /// Whether it was said that the rest of the command's group is awaited.
    told_of_the_rest: bool,
    killed_at: Option<BootTime>,
    /// The deadline that the monitor was shown last.
    deadline: Option<BootTime>,
    /// When to write into zklock's nodes since when it holds the locks, until that is done.
    record_held_at: Option<BootTime>,
}

impl Running {
    pub(super) fn begin(ctx: &Context<'_>) -> Self {
        Self {
            supervisor: Supervisor::new(ctx.plan),
            lost: None,
            surely_lost: false,
            kill_again_at: None,
            stuck: false,
            told_of_the_rest: false,
            killed_at: None,
            deadline: None,
            record_held_at: Some(ctx.now + RECORD_HELD_AFTER),
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.supervisor.is_stopping()
    }

    pub(super) fn on(&mut self, input: Input, ctx: &mut Context<'_>) -> Option<Next> {
        let may_have_ended = !self.is_stopping() && ended_in_time(&input, ctx);
        // The lease first: the input may be a SIGCONT after a long stop.
        if self.supervisor.end().is_none() && !may_have_ended {
            self.keep_the_lease(ctx);
        }
        match input {
            Input::Tick => {
                self.show_wait(ctx);
                self.record_held_since(ctx);
                // After a certain loss another contender may hold the lock already: there is no time left.
                let lease = ctx.state.claim.lease().filter(|_| !self.surely_lost);
                let latest = lease.map_or(ctx.now, Lease::take_over_at);
                self.time_passed(latest, ctx);
            }
            Input::Signal(signal) => {
                if ends_waiting(signal) && self.supervisor.end().is_none() {
                    ctx.say(sent(signal, &ctx.plan.command));
                }
                self.happened(JobInput::Signalled(signal), ctx);
            }
            Input::Key(signal) => self.happened(JobInput::Key(signal), ctx),
            Input::MonitorDied => self.lose(Loss::MonitorDied, ctx),
            Input::Child => ctx.emit(Effect::Job(LookAtChildren(self.supervisor.awaits()))),
            Input::Children { leader, none_left } => self.children(leader, none_left, ctx),
            Input::KillRound(round) => self.killed(round, ctx),
            Input::Reaped(exit) => return self.reaped(exit, ctx),
            Input::Session(key, change) => {
                let events = ctx.state.claim.session_changed(key, change, ctx.now, ctx.out);
                self.on_events(events, ctx);
            }
            Input::Reply(key, asker, reply) => {
                let events = ctx.state.claim.replied(key, asker, reply, ctx.now, ctx.out);
                self.on_events(events, ctx);
            }
            _ => {}
        }
        // A deadline that has passed isn't shown for a command that may have ended: the monitor would act at once.
        if !may_have_ended {
            self.show_deadline(ctx);
        }
        None
    }

    /// While the lock is held, says that no server answers and when the lock is lost.
    fn show_wait(&self, ctx: &mut Context<'_>) {
        let claim = &ctx.state.claim;
        let awaited = claim.session().filter(|_| self.lost.is_none()).and_then(Session::awaited);
        let until = claim.lease().map(|lease| lease.stop_at(ctx.plan.kill_after));
        ctx.show(awaited.map(|(awaited, since)| Wait { awaited, since, until }), Shown::AsStep);
    }

    fn on_events(&mut self, events: Vec<Event>, ctx: &mut Context<'_>) {
        for event in events {
            self.on_event(event, ctx);
        }
    }

    fn on_event(&mut self, event: Event, ctx: &mut Context<'_>) {
        match event {
            Event::Lost(failure) => self.lose(Loss::Session(failure), ctx),
            Event::NodeGone => self.lose(Loss::NodeDeleted, ctx),
            Event::Failed(path, ContentionError::Deleted) => {
                self.lose_at(Some(path), Loss::NodeDeleted, ctx);
            }
            Event::Revoked(path, by) => {
                self.lose_at(Some(path), Loss::Revoked(by), ctx);
            }
            Event::Failed(path, error) => {
                self.lose_at(Some(path), Loss::Queue(error), ctx);
            }
            Event::Disconnected => {
                let text = "connection lost; the command continues while the lease lasts";
                ctx.say(Message::step("disconnected", text));
            }
            Event::Reconnected => ctx.say(Message::step("reconnected", "connected again")),
            Event::Unconfirmed(failure) => ctx.say_unconfirmed(&failure),
            _ => {}
        }
    }

    fn keep_the_lease(&mut self, ctx: &mut Context<'_>) {
        let (now, kill_after) = (ctx.now, ctx.plan.kill_after);
        ctx.state.claim.confirm_if_due(now, ctx.out);
        let stop_at = ctx.state.claim.lease().map(|lease| lease.stop_at(kill_after));
        if stop_at.is_some_and(|at| at <= now) {
            let silence =
                ctx.state.claim.session().map_or(Silence::NoAnswer(Duration::ZERO), |it| it.silence(now));
            self.lose(Loss::LeaseOver { silence, late: ctx.state.late }, ctx);
        }
    }

    fn lose(&mut self, loss: Loss, ctx: &mut Context<'_>) {
        self.lose_at(None, loss, ctx);
    }

    /// `path` is the lock that is lost, if it is one of several.
    fn lose_at(&mut self, path: Option<LockPath>, loss: Loss, ctx: &mut Context<'_>) {
        let (now, plan) = (ctx.now, ctx.plan);
        // Without a monitor no other process would end the command if this one froze: it is killed immediately.
        let at_once = loss == Loss::MonitorDied;
        // zklock still holds a revoked lock and renews its lease. After any other loss only the rest of the lease is
        // left.
        let kill_at = match loss {
            Loss::Revoked(_) => now + plan.kill_after,
            _ => ctx.state.claim.lease().map_or(now, Lease::kill_at),
        };
        self.surely_lost |= !loss.may_still_be_held();
        // Stop before reporting. A stop that has begun is only ever brought forward.
        let grace = if at_once { Duration::ZERO } else { plan.kill_after };
        self.happened(JobInput::MustStop { grace, kill_at }, ctx);
        let path = path.unwrap_or_else(|| plan.first().clone());
        if self.lost.is_none() || at_once {
            let kill_in = self.supervisor.kills_at().map(|at| now.until(at)).filter(|left| !left.is_zero());
            let message = lock_lost(&loss, &plan.command, plan.signal, kill_in);
            tell_manager(&message.to_string(), EXTENSION + plan.kill_after, ctx);
            ctx.say_about(path.clone(), message);
        }
        self.lost.get_or_insert((loss, path));
    }

    fn children(&mut self, leader: Option<LeaderChange>, none_left: Option<Reach>, ctx: &mut Context<'_>) {
        if let Some(change) = leader {
            let was_stopping = self.supervisor.is_stopping();
            self.happened(JobInput::Leader(change), ctx);
            if self.supervisor.is_stopping() && !was_stopping {
                let command = ctx.plan.command.as_str();
                let text = format!(
                    "{command} was killed; the processes that it has left are killed before the release"
                );
                ctx.say(Message::step("killed", text).with("command", command));
            }
        }
        if let Some(reach) = none_left {
            self.happened(JobInput::NoneLeft(reach), ctx);
        }
    }

    /// Time has passed. Other zklocks among killed processes may release their locks until `latest`.
    fn time_passed(&mut self, latest: BootTime, ctx: &mut Context<'_>) {
        let rest_until = self.supervisor.rest_until();
        self.happened(JobInput::Tick { latest }, ctx);
        let Some(left) = rest_until.map(|until| ctx.now.until(until)) else { return };
        let (command, kill_after) = (ctx.plan.command.as_str(), ctx.plan.kill_after);
        let is_long = kill_after.saturating_sub(left) >= NOTICEABLE;
        let (reason, text) = match self.supervisor.end() {
            Some(_) if !kill_after.is_zero() => {
                let text =
                    format!("processes that {command} has left run on, and the lock is released beside them");
                ("left_in_group", text)
            }
            None if is_long && !self.told_of_the_rest => {
                self.told_of_the_rest = true;
                let left = time(left);
                let text = format!(
                    "{command} was ended by a signal, but processes of its group run on; the lock is kept until they end, at most {left} more"
                );
                ("group_awaited", text)
            }
            _ => return,
        };
        ctx.say(Message::warning("warning", text).with("reason", reason).with("command", command));
    }

    fn killed(&mut self, round: KillRound, ctx: &mut Context<'_>) {
        let KillRound { gone, next, stuck, left } = round;
        (self.kill_again_at, self.stuck) = (next, stuck);
        self.killed_at.get_or_insert(ctx.now);
        if gone {
            ctx.emit(Effect::Job(LookAtChildren(Reach::All)));
        }
        for left in left {
            let text =
                format!("{left}; zklock waits for its end, and keeps the lock while its session lasts");
            ctx.say(Message::warning("warning", text).with("reason", "left_after_kill"));
        }
    }

    fn happened(&mut self, input: JobInput, ctx: &mut Context<'_>) {
        let was_suspended = self.supervisor.is_suspended();
        for effect in self.supervisor.on(input, ctx.now) {
            if let Effect::Suspend(signal) = effect {
                report_suspension(signal, ctx);
            }
            ctx.emit(effect);
        }
        if self.supervisor.is_suspended() != was_suspended {
            ctx.state.claim.mark_stopped(!was_suspended, ctx.now, ctx.out);
        }
    }

    /// Writes into zklock's nodes since when it holds the locks, unless the lock is lost or the command is stopped.
    fn record_held_since(&mut self, ctx: &mut Context<'_>) {
        if self.record_held_at().is_some_and(|at| at <= ctx.now) {
            self.record_held_at = None;
            ctx.state.claim.record_held_since(ctx.now, ctx.out);
        }
    }

    fn record_held_at(&self) -> Option<BootTime> {
        let is_quiet =
            self.lost.is_none() && !self.supervisor.is_stopping() && !self.supervisor.is_suspended();
        self.record_held_at.filter(|_| is_quiet)
    }

    /// Shows the monitor the time from which it must act if this process hangs or is stopped.
    fn show_deadline(&mut self, ctx: &mut Context<'_>) {
        if self.supervisor.end().is_some() {
            // The command has ended, and the worker is about to report it. If the monitor saw a deadline in the past,
            // it would end the worker first.
            return;
        }
        // If KILL had no effect, the monitor's KILL would have none either, and would end the session: that alone keeps the
        // lock while a process doesn't end.
        let in_vain = self.stuck;
        let lease = ctx.state.claim.lease().filter(|_| !in_vain);
        let deadline = lease.map(|lease| match self.killed_at {
            Some(at) => lease.end().max(at + LONGEST_KILLING),
            None => lease.take_over_at(),
        });
        if self.deadline != deadline {
            self.deadline = deadline;
            ctx.emit(Effect::SetDeadline(deadline));
        }
    }

    /// When to check the time next if no input comes before.
    pub(super) fn wake_at(&self, plan: &Plan, claim: &Claim, now: BootTime) -> Option<BootTime> {
        let lease = claim.lease();
        let stop_at = lease.map(|lease| lease.stop_at(plan.kill_after));
        let stop_at = stop_at.filter(|&at| self.lost.is_none() || at > now);
        // A timer is late while the boot clock is slowed down, so both clocks are read at least this often.
        let look = lease.map(|lease| now + lease.step() / 2);
        let look = look.filter(|_| claim.due().is_none() || self.supervisor.is_stopping());
        let kill_again = self.kill_again_at.filter(|_| self.supervisor.is_stopping());
        let rest = self.supervisor.rest_until().map(|until| until.min(now + LOOK_AT_THE_REST));
        let kills_at = self.supervisor.kills_at();
        let moments = [stop_at, look, kill_again, claim.due(), kills_at, rest, self.record_held_at()];
        moments.into_iter().flatten().min()
    }

    fn reaped(&mut self, status: Option<Exit>, ctx: &mut Context<'_>) -> Option<Next> {
        let end = self.supervisor.end()?;
        let exit = match (end, status) {
            (JobEnd::Stopped, _) => Exit::Code(exit::LOST),
            (JobEnd::ByItself, status) => status.unwrap_or(Exit::Code(exit::FAILURE)),
        };
        ctx.emit(Effect::CommandIsOver(exit, LONGEST_REST));
        if let (Some((loss, path)), JobEnd::Stopped) = (self.lost.clone(), end) {
            let lease = ctx.state.claim.lease();
            let after = lease.map(|lease| ctx.now.since(lease.last_confirmed()));
            ctx.say_about(path, command_stopped(&loss, &ctx.plan.command, after));
        }
        Some(Next::Ended(exit))
    }
}

/// Reports that the monitor stops with the command, so that the shell shows its prompt. zklock keeps the lock.
fn report_suspension(signal: i32, ctx: &mut Context<'_>) {
    let (plan, claim) = (ctx.plan, &ctx.state.claim);
    let until_stop = claim.lease().map(|lease| ctx.now.until(lease.stop_at(plan.kill_after)));
    let limit = claim.time_to_spare().min(until_stop.unwrap_or(Duration::MAX));
    let command = plan.command.as_str();
    let message = if matches!(signal, SIGTTIN | SIGTTOU) {
        let text = format!("{command} wants the terminal; meanwhile the lock is kept");
        Message::step("suspended", text)
    } else {
        let text = format!("{command} is stopped, and the lock is kept; fg or bg continues it");
        Message::warning("suspended", text)
    };
    ctx.say(message.with("command", command).with("held", true));
    // The message is written before the shell's prompt.
    ctx.emit(Effect::FlushOutput(limit));
}

/// zklock was sent a signal that ends most commands, and forwards it.
fn sent(signal: i32, command: &str) -> Message {
    let message = Message::step("signalled", format!("{command} is sent {}", signal::short_name(signal)));
    message.with("command", command).with("signal", signal::name(signal))
}

/// The lock is lost, and the command gets this signal now and KILL after a while, or KILL now.
fn lock_lost(loss: &Loss, command: &str, signal: i32, kill_in: Option<Duration>) -> Message {
    let (reason, why) = loss.told("is");
    let fate = kill_in.map_or("KILL now".to_owned(), |kill_in| {
        format!("{} now, KILL in {}", signal::short_name(signal), time(kill_in))
    });
    Message::warning("lost", format!("{why}; {command} is being stopped: {fate}"))
        .with("command", command)
        .with("reason", reason)
        .with("by", loss.revoked_by())
        .with_span("kill_in", kill_in.unwrap_or_default())
        .with_span("late", loss.late())
}

/// The command was stopped because of that, so long `after` the last confirmation, if there is a lease.
fn command_stopped(loss: &Loss, command: &str, after: Option<Duration>) -> Message {
    let (reason, why) = loss.told("was");
    let late = after.map(|after| format!(" {} after the servers last confirmed the lock", time(after)));
    let stopped = format!("; {command} was stopped{}", late.unwrap_or_default());
    let text = format!("{}{stopped}", loss.in_short());
    let text_alone = Some(why + &stopped);
    Message { text_alone, ..Message::new(Level::Error, "stopped", text) }
        .with("command", command)
        .with("reason", reason)
        .with("by", loss.revoked_by())
        .with_span("unconfirmed_for", after)
        .with_span("late", loss.late())
}

/// Whether this input says, or may say, that the command has ended while the lease still lasts: then the command held the
/// lock to its end. After one that only may say so, the next input tells.
fn ended_in_time(input: &Input, ctx: &Context<'_>) -> bool {
    let may_say_so = match input {
        Input::Child | Input::Reaped(_) => true,
        Input::Children { leader, .. } => matches!(leader, Some(LeaderChange::Died { .. })),
        _ => false,
    };
    may_say_so && ctx.state.claim.lease().is_some_and(|lease| ctx.now < lease.end())
}
