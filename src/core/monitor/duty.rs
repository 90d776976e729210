//! What the monitor knows about its worker, and when it must act.

use std::collections::VecDeque;
use std::time::Duration;

use super::MonitorEffect;
use crate::core::exit::Exit;
use crate::core::pair::{OwnedNode, Report, Stage};
use crate::core::planted::{Mistake, planted};
use crate::core::signal::{SIGCONT, ends_waiting};
use crate::core::time::BootTime;

/// How long a worker that is only waiting may take to notice a signal that ends it.
const HEARING: Duration = Duration::from_secs(2);

/// How long it may take to leave the queue then: twice the time that servers get to answer (`releasing`), and a
/// reserve.
const LEAVING: Duration = Duration::from_secs(15);

/// The worker's state in the shared page, which needs no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The worker's stage.
    pub stage: Stage,
    /// When the monitor must act.
    pub deadline: Option<BootTime>,
    /// How many of the relayed signals the worker has taken in.
    pub taken: u64,
}

/// The monitor's task after a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Nothing, at least for now.
    Nothing,
    /// Stop as the terminal's signal would have done, unless zklock is continued meanwhile.
    Stop {
        /// The terminal's signal.
        signal: i32,
        /// Whether the whole process group is to stop.
        whole_group: bool,
    },
    /// Exit, and leave the worker running.
    Leave(Exit),
}

/// Why the monitor must end the worker and the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The worker stands still: the lease is nearly over, and the command hasn't ended.
    Frozen,
    /// The worker stands still while it waits: it didn't take in a signal that ends it, or did and didn't end.
    Deaf(i32),
}

/// The monitor's knowledge of its worker.
#[derive(Debug, Default)]
pub(super) struct Duty {
    /// How many signals were relayed, and how many of them continued zklock.
    relayed: u64,
    continued: u64,
    /// Signals that end a waiter: each one's number among the relayed signals, the signal, and when it was relayed.
    unheard: VecDeque<(u64, i32, BootTime)>,
    /// The first of them, and when it was relayed.
    told_to_end: Option<(i32, BootTime)>,
    exit: Option<Exit>,
    variables: Option<Vec<(String, String)>>,
    session_timeout: Option<Duration>,
    nodes: Vec<OwnedNode>,
}

impl Duty {
    /// Records a relayed signal.
    pub(super) fn relayed(&mut self, signal: i32, now: BootTime) {
        self.relayed += 1;
        match signal {
            SIGCONT => self.continued += 1,
            signal if ends_waiting(signal) => {
                self.unheard.push_back((self.relayed, signal, now));
                self.told_to_end.get_or_insert((signal, now));
            }
            _ => {}
        }
    }

    /// Takes in a report of the worker.
    pub(super) fn take(&mut self, report: Report) -> Task {
        match report {
            Report::Nodes { session_timeout, nodes } => {
                (self.session_timeout, self.nodes) = (Some(Duration::from_millis(session_timeout)), nodes);
            }
            Report::Stop { signal, whole_group, continued } if continued == self.continued => {
                return Task::Stop { signal, whole_group };
            }
            // `Shorter` needs no task, since the monitor reads the page next. A stop with an old count is outdated: the
            // worker hadn't yet learned that zklock is continued.
            Report::Shorter | Report::Stop { .. } => {}
            Report::Exit(exit) => self.exit = Some(exit),
            Report::Leave(exit) => {
                self.exit = Some(exit);
                return Task::Leave(exit);
            }
            Report::Become(variables) => self.variables = Some(variables),
        }
        Task::Nothing
    }

    /// Whether the worker must be ended `now`, and why.
    pub(super) fn look(&mut self, shown: Shown, now: BootTime) -> Option<Why> {
        while self.unheard.front().is_some_and(|&(number, ..)| number <= shown.taken) {
            self.unheard.pop_front();
        }
        if shown.deadline.is_some_and(|deadline| deadline <= now) {
            return Some(Why::Frozen);
        }
        let deaf = self.limits(shown).find(|&(at, _)| at <= now);
        deaf.map(|(_, signal)| Why::Deaf(signal))
    }

    /// When to look next if nothing happens before.
    pub(super) fn next_look(&self, shown: Shown) -> Option<BootTime> {
        self.limits(shown).map(|(at, _)| at).chain(shown.deadline).min()
    }

    /// The times by which a waiting worker must have taken in a signal, and must have ended.
    fn limits(&self, shown: Shown) -> impl Iterator<Item = (BootTime, i32)> {
        let hearing = self.unheard.front().map(|&(_, signal, at)| (at + HEARING, signal));
        let leaving = self.told_to_end.map(|(signal, at)| (at + LEAVING, signal));
        hearing.into_iter().chain(leaving).filter(move |_| shown.stage == Stage::Waiting)
    }

    /// How zklock ends if the worker ended by itself and reported the result.
    pub(super) fn end(&mut self) -> Option<MonitorEffect> {
        match (self.variables.take(), self.exit) {
            (Some(variables), _) => Some(MonitorEffect::Become(variables)),
            (None, exit) => exit.map(MonitorEffect::Exit),
        }
    }

    /// zklock's exit after a worker that was killed or died.
    pub(super) fn exit(&self, shown: Shown, why: Option<Why>) -> Exit {
        use crate::core::exit::{FAILURE, LOST};
        match (self.exit, shown.stage, why) {
            // The command's own exit code, or that of a decision already made.
            (Some(exit), ..) => exit,
            (None, Stage::Running, Some(_)) if planted(Mistake::ExitSwallowed) => Exit::Code(0),
            (None, Stage::Running, _) => Exit::Code(LOST),
            (None, Stage::Waiting, Some(Why::Deaf(signal))) => Exit::Signal(signal),
            (None, Stage::Waiting | Stage::Over, _) => Exit::Code(FAILURE),
        }
    }

    /// The worker's nodes, and its session timeout if it had a session.
    pub(super) fn nodes(&self) -> (Option<Duration>, &[OwnedNode]) {
        (self.session_timeout, &self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::exit::{FAILURE, LOST};
    use crate::core::signal::{SIGINT, SIGTERM, SIGWINCH};

    const fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    fn shown(stage: Stage, deadline: Option<u64>, taken: u64) -> Shown {
        Shown { stage, deadline: deadline.map(at), taken }
    }

    #[test]
    fn an_ordinary_run_ends_as_the_worker_says() {
        let mut duty = Duty::default();
        assert_eq!(duty.end(), None, "a worker that ends without a report has failed");
        assert_eq!(duty.take(Report::Exit(Exit::Code(7))), Task::Nothing);
        assert_eq!(duty.end(), Some(MonitorEffect::Exit(Exit::Code(7))));
        assert_eq!(duty.take(Report::Leave(Exit::Signal(2))), Task::Leave(Exit::Signal(2)));
        duty.take(Report::Become(vec![]));
        assert_eq!(duty.end(), Some(MonitorEffect::Become(vec![])));
    }

    #[test]
    fn a_worker_that_lets_its_deadline_pass_is_frozen() {
        let mut duty = Duty::default();
        let running = shown(Stage::Running, Some(10), 0);
        assert_eq!(duty.next_look(running), Some(at(10)));
        assert_eq!(duty.look(running, at(9)), None);
        assert_eq!(duty.look(running, at(10)), Some(Why::Frozen));
        assert_eq!(
            duty.look(shown(Stage::Running, Some(11), 0), at(10)),
            None,
            "the lease was renewed meanwhile"
        );
        assert_eq!(duty.look(shown(Stage::Running, None, 0), at(99)), None, "--on-lost continue");
    }

    #[test]
    fn a_waiter_has_two_seconds_to_react_to_a_signal_that_ends_it() {
        let mut duty = Duty::default();
        duty.relayed(SIGWINCH, at(1));
        duty.relayed(SIGTERM, at(2));
        duty.relayed(SIGINT, at(3));
        let waiting = |taken| shown(Stage::Waiting, None, taken);
        assert_eq!(duty.next_look(waiting(0)), Some(at(4)));
        assert_eq!(duty.look(waiting(1), at(3)), None);
        assert_eq!(duty.look(waiting(1), at(4)), Some(Why::Deaf(SIGTERM)));
        assert_eq!(duty.look(waiting(2), at(4)), None, "the worker took in the first signal");
        assert_eq!(duty.next_look(waiting(2)), Some(at(5)));
        assert_eq!(
            duty.look(shown(Stage::Running, None, 2), at(9)),
            None,
            "a running command has no such limit"
        );
        assert_eq!(duty.look(waiting(3), at(9)), None);
    }

    #[test]
    fn a_waiter_that_heard_of_a_signal_and_never_ends_is_ended() {
        let mut duty = Duty::default();
        let waiting = shown(Stage::Waiting, None, 1);
        assert_eq!(duty.next_look(waiting), None);
        duty.relayed(SIGTERM, at(2));
        assert_eq!(duty.look(waiting, at(16)), None, "the servers may be slow");
        assert_eq!(duty.next_look(waiting), Some(at(17)));
        assert_eq!(duty.look(waiting, at(17)), Some(Why::Deaf(SIGTERM)));
        assert_eq!(
            duty.look(shown(Stage::Over, None, 1), at(99)),
            None,
            "the success of a command is recorded"
        );
    }

    #[test]
    fn a_stop_that_crossed_a_continue_is_outdated() {
        let mut duty = Duty::default();
        let stop = |continued| Report::Stop { signal: 20, whole_group: true, continued };
        let task = Task::Stop { signal: 20, whole_group: true };
        assert_eq!(duty.take(stop(0)), task);
        duty.relayed(SIGCONT, at(1));
        assert_eq!(duty.take(stop(0)), Task::Nothing);
        assert_eq!(duty.take(stop(1)), task);
    }

    #[test]
    fn the_exit_code_after_a_dead_worker_shows_whether_the_command_was_stopped() {
        let mut duty = Duty::default();
        let [waiting, running, over] =
            [Stage::Waiting, Stage::Running, Stage::Over].map(|stage| shown(stage, None, 0));
        assert_eq!(duty.exit(waiting, None), Exit::Code(FAILURE));
        assert_eq!(duty.exit(running, Some(Why::Frozen)), Exit::Code(LOST));
        assert_eq!(duty.exit(waiting, Some(Why::Deaf(SIGTERM))), Exit::Signal(15));
        duty.take(Report::Exit(Exit::Code(3)));
        assert_eq!(duty.exit(over, None), Exit::Code(3), "the command had ended, so its exit code is kept");
    }
}
