//! While the command runs under the lock: signals, the lease and the end of the job, all in one loop.

use std::io;
use std::time::Duration;

use crate::claim::{Claim, Notice};
use crate::cli::Words;
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::exit::{self, Exit};
use crate::job::Job;
use crate::job::supervisor::signal::SIGTERM;
use crate::job::supervisor::{Action, Happening, Supervisor};
use crate::lock::contender::{News, Trouble};
use crate::lock::path::LockPath;
use crate::lock::record::printable;
use crate::loss::{Loss, Silence};
use crate::pair::Deadline;
use crate::planted::{Mistake, planted};
use crate::release::LONGEST_END;
use crate::sys::ChildState;
use crate::ui;

/// What the user asked for in case of loss.
#[derive(Debug, Clone, Copy)]
pub struct OnLost {
    /// Stop the command, or only warn.
    pub terminate: bool,
    /// Grace between TERM and KILL.
    pub kill_after: Duration,
}

/// Waking up that much later than was asked for isn't the usual delay of a busy machine.
const STANDSTILL: Duration = Duration::from_millis(500);

struct Supervision<'a> {
    job: Job,
    claim: &'a mut Claim,
    path: &'a LockPath,
    /// What people know the command by.
    command: String,
    on_lost: OnLost,
    supervisor: Supervisor,
    lost: Option<Loss>,
    /// How much too late zklock woke up at worst since the last confirmation.
    stood_still: Option<Duration>,
    looked_at: BootTime,
}

/// Sees the job to its end, and says how zklock is to exit. The job is reaped when this returns, and the lock
/// not yet released. An error means that the job may still run: then nothing may be released.
pub fn supervise(
    job: Job,
    claim: &mut Claim,
    words: &Words,
    events: &Events,
    on_lost: OnLost,
) -> io::Result<Exit> {
    let (path, command) = (words.first_lock(), printable(&words.shown.to_string_lossy()));
    let mut supervision = Supervision {
        job,
        claim,
        path,
        command,
        on_lost,
        supervisor: Supervisor::default(),
        lost: None,
        stood_still: None,
        looked_at: BootTime::now(),
    };
    loop {
        let wake = supervision.next_wake();
        let event = events.next(wake)?;
        supervision.look_at_the_clock(wake);
        // The lease before anything else: what woke us may be "continue" after a long sleep.
        supervision.keep_the_lease()?;
        if let Some(event) = event {
            supervision.take(event)?;
        }
        supervision.kill_what_is_left()?;
        if let Some(forced) = supervision.supervisor.is_over() {
            let exit = supervision.exit(forced);
            supervision.claim.worker().command_is_over(exit, LONGEST_END);
            supervision.tell_how_it_was(forced);
            return Ok(exit);
        }
        supervision.show_deadline();
    }
}

impl Supervision<'_> {
    fn take(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Signal(signal) => self.happened(Happening::Signalled(signal as i32)),
            Event::NotStopped => self.happened(Happening::NotStopped),
            Event::MonitorDied => self.lose(Loss::MonitorDied),
            Event::Child => self.look_at_children(),
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
            Notice::Lost(failure) => self.lose(Loss::Session(failure, self.stood_still)),
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
            Notice::Confirmed => {
                self.stood_still = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes a standstill: woken by something that came in time, or by nothing, long after it was to look again.
    fn look_at_the_clock(&mut self, wake: Option<BootTime>) {
        let now = BootTime::now();
        let late = wake.map(|wake| now.since(wake.max(self.looked_at))).filter(|&late| late >= STANDSTILL);
        self.stood_still = self.stood_still.max(late);
        self.looked_at = now;
    }

    fn keep_the_lease(&mut self) -> io::Result<()> {
        let now = BootTime::now();
        self.claim.confirm_if_due(now);
        let (kill_after, stood_still) = (self.on_lost.kill_after, self.stood_still);
        if let Some(lease) = self.claim.lease()
            && lease.stop_at(kill_after) <= now
        {
            let silent_for = now.since(lease.last_confirmed());
            let silence = match stood_still {
                Some(span) => Some(Silence::Ours(span)),
                None => self.claim.silence(now),
            };
            self.lose(Loss::LeaseOver { silent_for, silence })?;
        }
        self.happened(Happening::Tick)
    }

    fn lose(&mut self, loss: Loss) -> io::Result<()> {
        let now = BootTime::now();
        // Nobody is there any more to answer for us: the command dies as it would with zklock.
        let at_once = loss == Loss::MonitorDied;
        // A revoked lock is still ours, and its lease goes on; whatever else is lost leaves no more than that.
        let kill_at = match loss {
            Loss::MonitorDied => now,
            Loss::Revoked(_) => now + self.on_lost.kill_after,
            _ => self.claim.lease().map_or(now, |lease| lease.kill_at()),
        };
        let is_first = self.lost.is_none();
        if !is_first && !self.may_be_sooner(kill_at) && !at_once {
            return Ok(());
        }
        // First the stop, then the words: nothing that is told may hold it up.
        let stops = self.on_lost.terminate || at_once;
        if stops {
            let grace = if at_once { Duration::ZERO } else { self.on_lost.kill_after };
            self.happened(Happening::MustStop { grace, kill_at })?;
            self.happened(Happening::Tick)?;
        }
        if is_first || at_once {
            let fate = if stops { "is stopped" } else { "goes on (--on-lost continue)" };
            ui::warn(self.path, format_args!("{}; {} {fate}", loss.told("is"), self.command));
            self.lost = Some(loss);
        }
        Ok(())
    }

    /// Whether a stop that has begun would end sooner by this moment.
    fn may_be_sooner(&self, kill_at: BootTime) -> bool {
        self.supervisor.next_tick().is_some_and(|planned| kill_at < planned)
    }

    fn look_at_children(&mut self) -> io::Result<()> {
        self.job.reap_orphans();
        match self.job.observe() {
            Some(ChildState::Dead) => self.happened(Happening::LeaderDied)?,
            Some(ChildState::Stopped(signal)) => {
                self.happened(Happening::Stopped { signal, terminal: self.job.foreground() })?;
            }
            None => {}
        }
        if self.supervisor.is_stopping() && self.job.none_left() {
            self.happened(Happening::NoneLeft)?;
        }
        Ok(())
    }

    /// Once KILL was sent, it is sent to whoever comes to light, until nobody does.
    fn kill_what_is_left(&mut self) -> io::Result<()> {
        let now = BootTime::now();
        if !self.supervisor.has_killed() {
            return Ok(());
        }
        // What is lost for certain may be somebody else's already.
        let is_ours =
            matches!(self.lost, Some(Loss::LeaseOver { .. } | Loss::Revoked(_) | Loss::MonitorDied));
        let latest = self.claim.lease().filter(|_| is_ours).map_or(now, |lease| lease.too_late_at());
        if self.job.kill(Some(latest), now) {
            self.look_at_children()?;
        }
        for left in self.job.left_for_long(now).into_iter().flatten() {
            ui::warn(
                self.path,
                format_args!("{left}; zklock waits for its end, and keeps the lock while its session lasts"),
            );
        }
        Ok(())
    }

    fn happened(&mut self, happening: Happening) -> io::Result<()> {
        let was_suspended = self.supervisor.is_suspended();
        for action in self.supervisor.on(happening, BootTime::now()) {
            match action {
                Action::Suspend(signal) => self.suspend(signal),
                action => self.job.carry_out(action)?,
            }
            if planted(Mistake::ReleaseEarly)
                && matches!(action, Action::SignalGroup(SIGTERM) | Action::SignalAll(SIGTERM))
            {
                self.claim.release();
            }
        }
        if self.supervisor.is_suspended() != was_suspended {
            self.claim.mark_stopped(!was_suspended);
        }
        Ok(())
    }

    /// The job has stopped, and the monitor is to stop with it: the shell gets its prompt. The lock is kept.
    fn suspend(&mut self, signal: i32) {
        let alone = self.job.gives_up_terminal();
        let kept = if self.lost.is_some() { "it doesn't hold the lock any more" } else { "the lock is kept" };
        if matches!(signal, nix::libc::SIGTTIN | nix::libc::SIGTTOU) {
            // It may well be given the terminal by the zklock around this one. Else the shell says what it wants.
            ui::step(self.path, format_args!("{} wants the terminal; meanwhile {kept}", self.command));
        } else {
            let text = format_args!("{} is stopped, and {kept}; fg or bg continues it", self.command);
            ui::warn(self.path, text);
        }
        // Before the shell's prompt.
        let now = BootTime::now();
        let until_stop = self.claim.lease().map(|lease| now.until(lease.stop_at(self.on_lost.kill_after)));
        ui::drain_before_others(self.claim.time_to_spare().min(until_stop.unwrap_or(Duration::MAX)));
        self.claim.worker().stop(signal, alone || signal != nix::libc::SIGTSTP);
    }

    /// From when on the monitor has to act, should this process stand still.
    fn show_deadline(&mut self) {
        let killed = self.supervisor.has_killed();
        // If KILL has no effect, it has none from the monitor either.
        let in_vain = killed && self.job.is_stuck();
        let (stopping, kill_after) = (self.supervisor.is_stopping(), self.on_lost.kill_after);
        let deadline = self.claim.lease().map(|lease| {
            let act = match (killed, stopping) {
                (true, _) => lease.end(),
                (false, true) => lease.too_late_at(),
                (false, false) => lease.take_over_at(kill_after),
            };
            Deadline { act, latest: lease.too_late_at() }
        });
        let deadline = deadline.filter(|_| self.on_lost.terminate && !in_vain);
        self.claim.worker().set_deadline(deadline);
    }

    fn next_wake(&mut self) -> Option<BootTime> {
        let kill_after = self.on_lost.kill_after;
        let stop_at = match self.lost {
            None | Some(Loss::Revoked(_)) => self.claim.lease().map(|lease| lease.stop_at(kill_after)),
            Some(_) => None,
        };
        let now = BootTime::now();
        let stop_at = stop_at.filter(|&at| self.lost.is_none() || at > now);
        // Its timer is late while the boot clock is slowed down: no longer than so without a look at both clocks.
        let look = self.claim.lease().map(|lease| now + lease.step() / 2);
        let look = look.filter(|_| self.claim.next_due().is_none() || self.supervisor.is_stopping());
        let sweep = self.job.next_kill().filter(|_| self.supervisor.has_killed());
        [stop_at, look, sweep, self.claim.next_due(), self.supervisor.next_tick()].into_iter().flatten().min()
    }

    fn exit(&self, forced: bool) -> Exit {
        match (&self.lost, forced, self.job.exit()) {
            (Some(_), true, _) if planted(Mistake::ExitSwallowed) => Exit::Code(0),
            (Some(_), true, _) => Exit::Code(exit::LOST),
            (_, _, Some(exit)) => exit,
            (_, _, None) => Exit::Code(exit::FAILURE),
        }
    }

    fn tell_how_it_was(&mut self, forced: bool) {
        let since = self.claim.lease().map(|lease| BootTime::now().since(lease.last_confirmed()));
        if let (Some(loss), true) = (&self.lost, forced) {
            let after = since.map(ui::time).unwrap_or_default();
            let stopped = format_args!("{} was stopped {after} after the last confirmation", self.command);
            ui::error(self.path, format_args!("{}; {stopped}", loss.told("was")));
        }
    }
}
