use super::super::MonitorMessage;
use super::*;
use crate::exit::Exit;
use crate::pair::Stage;
use crate::protocol::LockNode;
use crate::signal::{SIGCONT, SIGINT, SIGTSTP};

/// Something that the worker does, or that is done to it.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    Reports(Report),
    Signal(i32),
    Dies(Death),
}

use Act::{Dies, Reports, Signal};

/// A worker whose acts become visible one by one, each at a given observation.
struct Played<'a> {
    stage: Stage,
    /// The acts that are still to come, each with the number of the observation before which it takes place.
    to_come: VecDeque<(usize, &'a Act)>,
    observations: usize,
    now: Duration,
    signals: VecDeque<i32>,
    reports: VecDeque<Report>,
    death: Option<Death>,
    is_reaped: bool,
    /// The signal that announces the death is pending.
    is_announced: bool,
}

impl Played<'_> {
    /// Lets the acts take place that are due before this observation.
    fn observe(&mut self) {
        self.observations += 1;
        assert!(self.observations < 1_000, "the loop looks and looks, and never waits");
        while self.to_come.front().is_some_and(|(at, _)| *at < self.observations) {
            self.act();
        }
    }

    fn act(&mut self) {
        match self.to_come.pop_front() {
            Some((_, Reports(report))) => self.reports.push_back(report.clone()),
            Some((_, Signal(signal))) => self.signals.push_back(*signal),
            Some((_, Dies(death))) => (self.death, self.is_announced) = (Some(*death), true),
            None => {}
        }
    }

    /// Waits for something new, or until then. Returns `false` if nothing ends the wait.
    fn wait(&mut self, until: Option<BootTime>) -> bool {
        if self.is_announced || !self.signals.is_empty() || !self.reports.is_empty() {
            return true;
        }
        if !self.to_come.is_empty() {
            self.act();
            return true;
        }
        let Some(until) = until.map(BootTime::since_start) else { return false };
        let passes = until > self.now;
        self.now = until;
        passes
    }
}

impl MonitorSources for Played<'_> {
    fn now(&self) -> BootTime {
        BootTime::from_start(self.now)
    }

    fn relayed(&mut self) -> Option<i32> {
        self.observe();
        self.is_announced = false;
        self.signals.pop_front()
    }

    fn death(&mut self) -> Option<Death> {
        self.observe();
        assert!(!self.is_reaped, "a dead worker is reaped once: its pid may belong to another process then");
        self.is_reaped = self.death.is_some();
        self.death
    }

    fn report(&mut self) -> Option<Report> {
        self.observe();
        self.reports.pop_front()
    }

    fn worker(&self) -> WorkerState {
        WorkerState { stage: self.stage, deadline: None, taken: 9 }
    }
}

/// A worker that does this at these observations.
fn played<'a>(acts: &'a [Act], times: &[usize], stage: Stage) -> Played<'a> {
    Played {
        stage,
        to_come: times.iter().copied().zip(acts).collect(),
        observations: 0,
        now: Duration::ZERO,
        signals: VecDeque::new(),
        reports: VecDeque::new(),
        death: None,
        is_reaped: false,
        is_announced: false,
    }
}

/// What the monitor does until it exits, when these acts come at these observations.
fn effects(acts: &[Act], times: &[usize], stage: Stage) -> Vec<MonitorEffect> {
    let mut driver = MonitorDriver::new(Duration::from_secs(9), false);
    let mut played = played(acts, times, stage);
    let mut effects = vec![];
    for _ in 0..1_000 {
        match driver.next(&mut played) {
            MonitorTurn::CarryOut(effect) => {
                effects.push(effect.clone());
                match effect {
                    MonitorEffect::Finish(_) => return effects,
                    MonitorEffect::EndWorker | MonitorEffect::EndNobody | MonitorEffect::EndEverybody => {
                        played.is_reaped = true;
                        driver.answer(MonitorInput::Ended(played.worker(), None));
                    }
                    MonitorEffect::Clean(_) => driver.answer(MonitorInput::Cleaned(true)),
                    MonitorEffect::Suspend(_) | MonitorEffect::ExtendTimeout(_) | MonitorEffect::Say(_) => {}
                }
            }
            MonitorTurn::Wait(until) => {
                let goes_on = played.wait(until);
                assert!(goes_on, "zklock hangs: {acts:?} at {times:?}, {stage:?}: {effects:?}");
            }
        }
    }
    panic!("zklock never ends: {acts:?} at {times:?}, {stage:?}: {effects:?}")
}

/// How many observations an act is tried at: more than the loop makes without anything new.
const OBSERVATIONS: usize = 6;

/// All ascending sequences of so many observations: acts of one process keep their order.
fn ascending(length: usize) -> Vec<Vec<usize>> {
    let longer = |times: Vec<usize>| {
        let from = times.last().copied().unwrap_or_default();
        (from..OBSERVATIONS).map(move |time| [&times[..], &[time]].concat())
    };
    (0..length).fold(vec![vec![]], |all, _| all.into_iter().flat_map(longer).collect())
}

/// Calls `check` with the acts and the effects of every schedule of them, with a signal at each place or none.
fn in_every_order(reports: &[Report], death: Death, check: impl Fn(&[Act], &[MonitorEffect])) {
    let acts: Vec<Act> = reports.iter().cloned().map(Reports).chain([Dies(death)]).collect();
    let mut all = vec![acts.clone()];
    for signal in [SIGINT, SIGTSTP, SIGCONT] {
        for place in 0..=acts.len() {
            let mut acts = acts.clone();
            acts.insert(place, Signal(signal));
            all.push(acts);
        }
    }
    for acts in all {
        for times in ascending(acts.len()) {
            for stage in [Stage::Waiting, Stage::Running, Stage::Over] {
                let effects = effects(&acts, &times, stage);
                let ends = effects.iter().filter(|effect| matches!(effect, MonitorEffect::Finish(_)));
                assert_eq!(ends.count(), 1, "{acts:?} at {times:?}, {stage:?}: {effects:?}");
                check(&acts, &effects);
            }
        }
    }
}

#[test]
fn a_monitor_that_sees_nothing_new_waits() {
    for stage in [Stage::Waiting, Stage::Running, Stage::Over] {
        let mut driver = MonitorDriver::new(Duration::from_secs(9), false);
        assert!(matches!(driver.next(&mut played(&[], &[], stage)), MonitorTurn::Wait(_)), "{stage:?}");
    }
}

const LEFT: Exit = Exit::Signal(SIGINT);
const DEATHS: [Death; 4] = [Death::Success, Death::Failure, Death::Killed(9), Death::Unknown];

fn reports() -> Vec<Report> {
    let nodes = vec![LockNode { path: "/locks/a/n".into(), czxid: 5 }];
    vec![
        Report::DeadlineChanged,
        Report::Nodes { session_timeout: 4000, nodes },
        Report::Suspend { signal: SIGTSTP, continued: 0 },
        Report::Exit(Exit::Code(7)),
        Report::ExitNow(LEFT),
    ]
}

#[test]
fn zklock_ends_once_in_every_order_of_reports_death_and_signals() {
    for death in DEATHS {
        in_every_order(&[], death, |_, _| {});
        for first in reports() {
            in_every_order(std::slice::from_ref(&first), death, |_, _| {});
            for second in reports() {
                in_every_order(&[first.clone(), second], death, |_, _| {});
            }
        }
    }
}

#[test]
fn a_worker_that_leaves_decides_the_exit_whenever_its_death_is_noticed() {
    in_every_order(&[Report::ExitNow(LEFT)], Death::Success, |acts, effects| {
        assert_eq!(effects, [MonitorEffect::Finish(LEFT)], "{acts:?}");
    });
    let killed = |_: &[Act], effects: &[MonitorEffect]| {
        assert_eq!(effects.last(), Some(&MonitorEffect::Finish(LEFT)));
    };
    in_every_order(&[Report::ExitNow(LEFT)], Death::Killed(9), killed);
}

#[test]
fn a_reported_node_is_cleaned_up_whenever_a_death_is_noticed_and_words_come_last() {
    let nodes = reports().swap_remove(1);
    for death in [Death::Failure, Death::Killed(9)] {
        in_every_order(&[Report::DeadlineChanged, nodes.clone()], death, |acts, effects| {
            let [.., clean, worker, node, _] = effects else { panic!("{acts:?}: {effects:?}") };
            assert!(
                matches!(clean, MonitorEffect::Clean(leftover) if leftover.nodes.len() == 1),
                "{effects:?}"
            );
            assert!(matches!(worker, MonitorEffect::Say(MonitorMessage::Worker { .. })), "{effects:?}");
            assert_eq!(*node, MonitorEffect::Say(MonitorMessage::Node { gone: true }));
        });
    }
}

#[test]
fn the_reported_exit_is_zklock_s_whenever_the_death_is_noticed() {
    in_every_order(
        &[Report::DeadlineChanged, Report::Exit(Exit::Code(7))],
        Death::Success,
        |acts, effects| {
            assert_eq!(effects, [MonitorEffect::Finish(Exit::Code(7))], "{acts:?}");
        },
    );
}
