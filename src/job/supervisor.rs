//! What to do about the job when something happens: state and event in, actions out. Pure.
//!
//! The order is always the same: stop the job, see it gone, reap it, and only then may the lock be released.

use std::time::Duration;

use crate::clock::BootTime;

/// Signal numbers that the decisions need; the rest are passed on as they come.
pub mod signal {
    pub use nix::libc::{SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};
}
use self::signal::{SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};

/// Something that happened to the job or to zklock while the job exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// Somebody sent zklock this signal.
    Signalled(i32),
    /// The job's leader was stopped by this signal. `foreground`: the job has the terminal; `ours`: zklock's
    /// own group has it.
    Stopped {
        /// What stopped it.
        signal: i32,
        /// Where the terminal is.
        terminal: Foreground,
    },
    /// The job's leader is dead and not reaped.
    LeaderDied,
    /// Besides the leader, no process of the job is left.
    NoneLeft,
    /// The lock can't be trusted any more: the job has to be gone by `kill_at` at the latest.
    MustStop {
        /// How long TERM may take.
        grace: Duration,
        /// When KILL is sent in any case.
        kill_at: BootTime,
    },
    /// Time has passed.
    Tick,
}

/// Which process group has the terminal's foreground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreground {
    /// The job's.
    Job,
    /// zklock's own.
    Ours,
    /// Another, or there is no terminal.
    Other,
}

/// What is to be done, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send this signal to the job's process group.
    SignalGroup(i32),
    /// Send this signal to every process of the job, also those that left its group.
    SignalAll(i32),
    /// Give the job the terminal's foreground.
    GiveTerminal,
    /// Stop zklock as the terminal's signal with this number would have.
    Suspend(i32),
    /// Go on after a suspension: give the terminal back to the job if zklock has it, and continue the job.
    Resume,
    /// Reap the leader: nothing is signalled after this.
    Reap,
}

/// The state of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running { suspended: bool },
    Stopping { kill_at: BootTime, killed: bool, leader_dead: bool },
    Over { forced: bool },
}

/// Decides about one job.
#[derive(Debug)]
pub struct Supervisor {
    state: State,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self { state: State::Running { suspended: false } }
    }
}

impl Supervisor {
    /// What to do about `happening`, which was noticed `now`.
    pub fn on(&mut self, happening: Happening, now: BootTime) -> Vec<Action> {
        match self.state {
            State::Running { suspended } => self.running(happening, suspended, now),
            State::Stopping { kill_at, killed, leader_dead } => {
                self.stopping(happening, kill_at, killed, leader_dead, now)
            }
            State::Over { .. } => vec![],
        }
    }

    fn running(&mut self, happening: Happening, suspended: bool, now: BootTime) -> Vec<Action> {
        match happening {
            Happening::Signalled(SIGCONT) if suspended => {
                self.state = State::Running { suspended: false };
                vec![Action::Resume]
            }
            Happening::Signalled(signal) => vec![Action::SignalGroup(signal)],
            Happening::Stopped { signal: SIGTTIN | SIGTTOU, terminal: Foreground::Ours } => {
                vec![Action::GiveTerminal, Action::SignalGroup(SIGCONT)]
            }
            Happening::Stopped { signal, terminal } if signal != SIGSTOP || terminal == Foreground::Job => {
                self.state = State::Running { suspended: true };
                vec![Action::Suspend(if signal == SIGSTOP { SIGTSTP } else { signal })]
            }
            Happening::LeaderDied => {
                self.state = State::Over { forced: false };
                vec![Action::Reap]
            }
            Happening::MustStop { grace, kill_at } => {
                let kill_at = kill_at.min(now + grace);
                self.state = State::Stopping { kill_at, killed: false, leader_dead: false };
                let mut actions = vec![Action::SignalAll(SIGTERM), Action::SignalAll(SIGCONT)];
                actions.extend(self.on(Happening::Tick, now));
                actions
            }
            // A plain SIGSTOP from somebody stops the job alone, unless the job has the terminal: its user would
            // be left without a shell.
            Happening::Stopped { .. } | Happening::NoneLeft | Happening::Tick => vec![],
        }
    }

    fn stopping(
        &mut self,
        happening: Happening,
        kill_at: BootTime,
        killed: bool,
        leader_dead: bool,
        now: BootTime,
    ) -> Vec<Action> {
        match happening {
            Happening::LeaderDied => {
                self.state = State::Stopping { kill_at, killed, leader_dead: true };
                vec![]
            }
            Happening::NoneLeft if leader_dead => {
                self.state = State::Over { forced: true };
                vec![Action::Reap]
            }
            // Whoever asks again has no patience left.
            Happening::Signalled(SIGTERM | SIGINT) if !killed => self.kill(kill_at, leader_dead),
            Happening::Tick if !killed && now >= kill_at => self.kill(kill_at, leader_dead),
            // What is left may be new: a child that was forked as its parent was killed.
            Happening::Tick if killed => vec![Action::SignalAll(SIGKILL)],
            Happening::MustStop { grace, kill_at: sooner } => {
                let kill_at = kill_at.min(sooner).min(now + grace);
                self.state = State::Stopping { kill_at, killed, leader_dead };
                vec![]
            }
            _ => vec![],
        }
    }

    fn kill(&mut self, kill_at: BootTime, leader_dead: bool) -> Vec<Action> {
        self.state = State::Stopping { kill_at, killed: true, leader_dead };
        vec![Action::SignalAll(SIGKILL)]
    }

    /// When time alone changes something next.
    pub fn next_tick(&self) -> Option<BootTime> {
        match self.state {
            State::Stopping { kill_at, killed: false, .. } => Some(kill_at),
            _ => None,
        }
    }

    /// Whether the job is being stopped, and it isn't the job's own end.
    pub fn is_stopping(&self) -> bool {
        matches!(self.state, State::Stopping { .. })
    }

    /// Whether KILL has been sent.
    pub fn has_killed(&self) -> bool {
        matches!(self.state, State::Stopping { killed: true, .. })
    }

    /// Whether the job is gone and reaped, and if so, whether zklock forced it.
    pub fn is_over(&self) -> Option<bool> {
        match self.state {
            State::Over { forced } => Some(forced),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: BootTime = BootTime::from_nanos(1_000_000_000);
    const SOON: BootTime = BootTime::from_nanos(2_000_000_000);
    const LATE: BootTime = BootTime::from_nanos(9_000_000_000);

    fn must_stop() -> Happening {
        Happening::MustStop { grace: Duration::from_secs(1), kill_at: LATE }
    }

    fn stopping() -> Supervisor {
        let mut supervisor = Supervisor::default();
        assert_eq!(
            supervisor.on(must_stop(), NOW),
            [Action::SignalAll(SIGTERM), Action::SignalAll(SIGCONT)],
            "a stopped process can't end"
        );
        supervisor
    }

    #[test]
    fn a_signal_is_passed_on_and_nothing_more() {
        let mut supervisor = Supervisor::default();
        assert_eq!(supervisor.on(Happening::Signalled(SIGTERM), NOW), [Action::SignalGroup(SIGTERM)]);
        assert_eq!(supervisor.next_tick(), None, "no grace begins");
        assert_eq!(supervisor.on(Happening::LeaderDied, LATE), [Action::Reap]);
        assert_eq!(supervisor.is_over(), Some(false));
    }

    #[test]
    fn a_forced_stop_kills_after_the_grace_and_waits_for_the_last_process() {
        let mut supervisor = stopping();
        assert_eq!(supervisor.next_tick(), Some(SOON));
        assert_eq!(supervisor.on(Happening::Tick, NOW), []);
        assert_eq!(supervisor.on(Happening::Tick, SOON), [Action::SignalAll(SIGKILL)]);
        assert_eq!(supervisor.on(Happening::LeaderDied, SOON), []);
        assert_eq!(
            supervisor.on(Happening::Tick, SOON),
            [Action::SignalAll(SIGKILL)],
            "whoever was forked since"
        );
        assert_eq!(supervisor.on(Happening::NoneLeft, SOON), [Action::Reap]);
        assert_eq!(supervisor.is_over(), Some(true));
    }

    #[test]
    fn the_lease_cuts_the_grace_short() {
        let mut supervisor = Supervisor::default();
        supervisor.on(Happening::MustStop { grace: Duration::from_mins(1), kill_at: SOON }, NOW);
        assert_eq!(supervisor.next_tick(), Some(SOON));
        let mut supervisor = Supervisor::default();
        let at_once = supervisor.on(Happening::MustStop { grace: Duration::from_mins(1), kill_at: NOW }, NOW);
        assert_eq!(at_once.last(), Some(&Action::SignalAll(SIGKILL)));
    }

    #[test]
    fn who_asks_again_within_the_grace_kills_at_once() {
        for signal in [SIGTERM, SIGINT] {
            assert_eq!(stopping().on(Happening::Signalled(signal), NOW), [Action::SignalAll(SIGKILL)]);
        }
    }

    #[test]
    fn the_terminal_goes_to_the_job_that_asks_and_a_stop_stops_zklock() {
        let stopped =
            |signal, terminal| Supervisor::default().on(Happening::Stopped { signal, terminal }, NOW);
        assert_eq!(stopped(SIGTTIN, Foreground::Ours), [Action::GiveTerminal, Action::SignalGroup(SIGCONT)]);
        assert_eq!(stopped(SIGTTIN, Foreground::Other), [Action::Suspend(SIGTTIN)]);
        assert_eq!(stopped(SIGTSTP, Foreground::Job), [Action::Suspend(SIGTSTP)]);
        assert_eq!(stopped(SIGSTOP, Foreground::Job), [Action::Suspend(SIGTSTP)]);
        assert_eq!(stopped(SIGSTOP, Foreground::Other), [], "somebody stopped the job alone");
    }

    #[test]
    fn a_suspended_job_is_continued_once() {
        let mut supervisor = Supervisor::default();
        supervisor.on(Happening::Stopped { signal: SIGTSTP, terminal: Foreground::Job }, NOW);
        assert_eq!(supervisor.on(Happening::Signalled(SIGCONT), NOW), [Action::Resume]);
        assert_eq!(supervisor.on(Happening::Signalled(SIGCONT), NOW), [Action::SignalGroup(SIGCONT)]);
    }

    fn happening() -> impl Strategy<Value = Happening> {
        let terminal = prop_oneof![Just(Foreground::Job), Just(Foreground::Ours), Just(Foreground::Other)];
        prop_oneof![
            prop::sample::select(vec![SIGTERM, SIGINT, SIGCONT, SIGTSTP, 10]).prop_map(Happening::Signalled),
            (prop::sample::select(vec![SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]), terminal)
                .prop_map(|(signal, terminal)| Happening::Stopped { signal, terminal }),
            Just(Happening::LeaderDied),
            Just(Happening::NoneLeft),
            Just(Happening::Tick),
            (0u64..3_000, 0u64..9_000).prop_map(|(grace, kill_at)| Happening::MustStop {
                grace: Duration::from_millis(grace),
                kill_at: BootTime::from_nanos(kill_at * 1_000_000),
            }),
        ]
    }

    proptest! {
        #[test]
        fn whatever_happens_the_order_holds(story in prop::collection::vec((happening(), 0u64..500), 0..60)) {
            let mut supervisor = Supervisor::default();
            let (mut now, mut died, mut none_left, mut forced, mut reaped) = (NOW, false, false, false, 0);
            let end = [Happening::Tick, Happening::LeaderDied, Happening::NoneLeft].map(|happening| (happening, 10_000));
            for (happening, pause) in story.into_iter().chain(end) {
                now = now + Duration::from_millis(pause);
                died |= happening == Happening::LeaderDied;
                // The world tells of none left only when the leader is dead too.
                if happening == Happening::NoneLeft && !died { continue; }
                none_left |= happening == Happening::NoneLeft;
                let was_running = supervisor.is_over().is_none();
                forced |= was_running && matches!(happening, Happening::MustStop { .. });
                for action in supervisor.on(happening, now) {
                    prop_assert_eq!(reaped, 0, "nothing is done after the reap, {:?} least of all", action);
                    match action {
                        Action::Reap => {
                            prop_assert!(died, "never before it is dead");
                            prop_assert!(none_left || !forced, "a forced stop leaves nobody");
                            reaped += 1;
                        }
                        Action::Resume | Action::GiveTerminal | Action::Suspend(_) | Action::SignalGroup(_) => {
                            prop_assert!(!forced, "once the stop has begun nothing is started again: {:?}", action);
                        }
                        Action::SignalAll(_) => prop_assert!(forced),
                    }
                }
                prop_assert_eq!(supervisor.is_over().is_some(), reaped == 1);
            }
            prop_assert_eq!(reaped, 1, "every path ends");
            prop_assert_eq!(supervisor.is_over(), Some(forced));
        }
    }
}
