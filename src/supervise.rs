//! While the command runs under the lock: signals, the lease and the end of the job, all in one loop.

use std::fmt;
use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::claim::{Claim, Notice};
use crate::cli::Words;
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::exit::{self, Exit};
use crate::job::supervisor::{Action, Happening, Supervisor};
use crate::job::{self, Job};
use crate::lock::contender::{News, Trouble};
use crate::lock::path::LockPath;
use crate::lock::record::printable;
use crate::sys::ChildState;
use crate::ui;
use crate::zk::Failure;

/// What the user asked for in case of loss.
#[derive(Debug, Clone, Copy)]
pub struct OnLost {
    /// Stop the command, or only warn.
    pub terminate: bool,
    /// Grace between TERM and KILL.
    pub kill_after: Duration,
}

/// Why the lock can't be trusted any more.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Loss {
    LeaseOver { silent_for: Duration },
    Session(Failure),
    NodeDeleted,
    Revoked(Option<String>),
    Queue(Trouble),
}

impl Loss {
    /// What happened, with `verb` to say when: "is" or "was".
    fn told(&self, verb: &str) -> String {
        let reason: &dyn fmt::Display = match self {
            Self::Revoked(by) => {
                return format!("the lock {verb} revoked by {}", by.as_deref().unwrap_or("somebody"));
            }
            Self::LeaseOver { silent_for } => {
                let silent_for = ui::time(*silent_for);
                &format!("the ensemble confirmed nothing for {silent_for}, and the session may end")
            }
            Self::Session(failure) => failure,
            Self::NodeDeleted => &"its node was deleted by somebody",
            Self::Queue(trouble) => trouble,
        };
        format!("the lock {verb} lost: {reason}")
    }
}

/// How long after it was continued zklock waits for the signal that did it. None comes if nobody stopped it.
const CONTINUED_BY_NOBODY: Duration = Duration::from_millis(100);

struct Supervision<'a> {
    job: Job,
    claim: &'a mut Claim,
    path: &'a LockPath,
    /// What people know the command by.
    command: String,
    on_lost: OnLost,
    supervisor: Supervisor,
    lost: Option<Loss>,
    resume_by: Option<BootTime>,
}

/// Sees the job to its end, and says how zklock is to exit. The job is reaped when this returns, and the lock
/// not yet released.
pub fn supervise(
    job: Job,
    claim: &mut Claim,
    words: &Words,
    events: &Events,
    on_lost: OnLost,
) -> io::Result<Exit> {
    let (path, command) = (words.first_lock(), printable(&words.shown.to_string_lossy()));
    let supervisor = Supervisor::default();
    let mut supervision =
        Supervision { job, claim, path, command, on_lost, supervisor, lost: None, resume_by: None };
    loop {
        let event = events.next(supervision.next_wake())?;
        // The lease before anything else: what woke us may be "continue" after a long sleep.
        supervision.keep_the_lease()?;
        if let Some(event) = event {
            supervision.take(event)?;
        }
        if let Some(forced) = supervision.supervisor.is_over() {
            return Ok(supervision.exit(forced));
        }
    }
}

impl Supervision<'_> {
    fn take(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Signal(signal) => {
                if signal == Signal::SIGCONT {
                    self.resume_by = None;
                }
                self.happened(Happening::Signalled(signal as i32))
            }
            Event::Child => {
                self.look_at_guard();
                self.look_at_children()
            }
            event => {
                for notice in self.claim.take(event) {
                    self.notice(notice)?;
                }
                Ok(())
            }
        }
    }

    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        match notice {
            Notice::Lost(failure) => self.lose(Loss::Session(failure)),
            Notice::NodeGone | Notice::Lock(_, News::Failed(Trouble::Deleted)) => {
                self.lose(Loss::NodeDeleted)
            }
            Notice::Lock(_, News::Revoked(by)) => self.lose(Loss::Revoked(by)),
            Notice::Lock(_, News::Failed(trouble)) => self.lose(Loss::Queue(trouble)),
            Notice::Disconnected => {
                ui::step(self.path, "connection lost; the command goes on while the lease lasts");
                Ok(())
            }
            Notice::Reconnected => {
                ui::step(self.path, "connected again");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn keep_the_lease(&mut self) -> io::Result<()> {
        let now = BootTime::now();
        self.claim.confirm_if_due(now);
        let kill_after = self.on_lost.kill_after;
        if let Some(lease) = self.claim.lease()
            && lease.stop_at(kill_after) <= now
        {
            let silent_for = now.since(lease.last_confirmed());
            self.lose(Loss::LeaseOver { silent_for })?;
        }
        if self.resume_by.is_some_and(|by| by <= now) {
            self.resume_by = None;
            self.happened(Happening::Signalled(nix::libc::SIGCONT))?;
        }
        self.happened(Happening::Tick)?;
        if self.supervisor.has_killed() { self.look_at_children() } else { Ok(()) }
    }

    fn lose(&mut self, loss: Loss) -> io::Result<()> {
        let now = BootTime::now();
        // A revoked lock is still ours, and its lease goes on; whatever else is lost leaves no more than that.
        let kill_at = match loss {
            Loss::Revoked(_) => now + self.on_lost.kill_after,
            _ => self.claim.lease().map_or(now, |lease| lease.kill_at()),
        };
        if self.lost.is_none() {
            let fate = if self.on_lost.terminate { "is stopped" } else { "goes on (--on-lost continue)" };
            ui::warn(self.path, format_args!("{}; {} {fate}", loss.told("is"), self.command));
            self.lost = Some(loss);
        } else if !self.may_be_sooner(kill_at) {
            return Ok(());
        }
        if self.on_lost.terminate {
            self.happened(Happening::MustStop { grace: self.on_lost.kill_after, kill_at })?;
        }
        Ok(())
    }

    /// Whether a stop that has begun would end sooner by this moment.
    fn may_be_sooner(&self, kill_at: BootTime) -> bool {
        self.supervisor.next_tick().is_some_and(|planned| kill_at < planned)
    }

    /// A guard that was killed is replaced at once. If that fails the command goes on: it holds the lock.
    fn look_at_guard(&mut self) {
        // Once the job is reaped, its group's number may be somebody else's.
        let group = self.supervisor.is_over().is_none().then(|| self.job.group());
        if self.claim.guard_is_dead()
            && let Err(error) = self.claim.renew_guard(group)
        {
            let risk = "if zklock is killed now, the command may outlive the lock";
            ui::warn(
                self.path,
                format_args!("the guard process died and can't be started again: {error}; {risk}"),
            );
        }
    }

    fn look_at_children(&mut self) -> io::Result<()> {
        job::reap_strangers(&[self.job.group(), self.claim.guard_pid()]);
        match self.job.observe() {
            Some(ChildState::Dead) => self.happened(Happening::LeaderDied)?,
            Some(ChildState::Stopped(signal)) => {
                self.happened(Happening::Stopped { signal, terminal: self.job.foreground() })?;
            }
            None => {}
        }
        if self.supervisor.is_stopping() && self.job.none_left(self.claim.guard_pid()) {
            self.happened(Happening::NoneLeft)?;
        }
        Ok(())
    }

    fn happened(&mut self, happening: Happening) -> io::Result<()> {
        for action in self.supervisor.on(happening, BootTime::now()) {
            if matches!(action, Action::Suspend(_)) {
                self.say_how_long_the_lock_lasts();
            }
            if action == Action::Reap {
                self.claim.job_is_over();
            }
            self.job.carry_out(action, self.claim.guard_pid())?;
            if matches!(action, Action::Suspend(_)) {
                self.resume_by = Some(BootTime::now() + CONTINUED_BY_NOBODY);
            }
        }
        Ok(())
    }

    fn say_how_long_the_lock_lasts(&mut self) {
        let kill_after = self.on_lost.kill_after;
        if let Some(lease) = self.claim.lease()
            && self.on_lost.terminate
        {
            let left = BootTime::now().until(lease.stop_at(kill_after));
            ui::warn(
                self.path,
                format_args!("stopped; the lock is lost if it isn't continued within {}", ui::time(left)),
            );
        }
    }

    fn next_wake(&mut self) -> Option<BootTime> {
        let kill_after = self.on_lost.kill_after;
        let stop_at = match self.lost {
            None | Some(Loss::Revoked(_)) => self.claim.lease().map(|lease| lease.stop_at(kill_after)),
            Some(_) => None,
        };
        let stop_at = stop_at.filter(|&at| self.lost.is_none() || at > BootTime::now());
        let sweep = self.supervisor.has_killed().then(|| BootTime::now() + Job::SWEEP);
        [stop_at, sweep, self.claim.next_due(), self.supervisor.next_tick(), self.resume_by]
            .into_iter()
            .flatten()
            .min()
    }

    fn exit(&mut self, forced: bool) -> Exit {
        let since = self.claim.lease().map(|lease| BootTime::now().since(lease.last_confirmed()));
        match (&self.lost, forced, self.job.exit()) {
            (Some(loss), true, _) => {
                let after = since.map(ui::time).unwrap_or_default();
                let stopped =
                    format_args!("{} was stopped {after} after the last confirmation", self.command);
                ui::error(self.path, format_args!("{}; {stopped}", loss.told("was")));
                Exit::Code(exit::LOST)
            }
            (_, _, Some(exit)) => exit,
            (_, _, None) => Exit::Code(exit::FAILURE),
        }
    }
}
