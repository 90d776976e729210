use super::*;
use crate::core::exit::{FAILURE, LOST};
use crate::core::pair::OwnedNode;
use crate::core::signal::{SIGCONT, SIGTERM};

const TIMEOUT: Duration = Duration::from_secs(9);
const TSTP: i32 = 20;

const fn at(seconds: u64) -> BootTime {
    BootTime::from_nanos(seconds * 1_000_000_000)
}

fn shown(stage: Stage) -> Shown {
    Shown { stage, deadline: None, taken: 0 }
}

fn monitor() -> Monitor {
    Monitor::new(TIMEOUT)
}

/// A monitor that was told of one node, and of nothing else.
fn with_a_node() -> (Monitor, Remains) {
    let nodes = vec![OwnedNode { path: "/locks/a/n".into(), czxid: 5 }];
    let mut monitor = monitor();
    let report = Report::Nodes { session_timeout: 4000, nodes: nodes.clone() };
    assert_eq!(monitor.on(at(1), MonitorInput::Reported(report)), []);
    (monitor, Remains { session_timeout: Duration::from_secs(4), nodes, entering: None })
}

fn worker_ended(monitor: &mut Monitor, death: Death, stage: Stage) -> Vec<MonitorEffect> {
    monitor.on(at(2), MonitorInput::WorkerEnded(death, shown(stage)))
}

fn told(cause: WorkersEnd, stage: Stage) -> MonitorEffect {
    MonitorEffect::Say(Ending::Worker { cause, stage })
}

#[test]
fn an_ordinary_run_ends_as_the_worker_said() {
    let (mut monitor, _) = with_a_node();
    assert_eq!(monitor.on(at(1), MonitorInput::Reported(Report::Exit(Exit::Code(7)))), []);
    let ended = worker_ended(&mut monitor, Death::Success, Stage::Over);
    assert_eq!(ended, [MonitorEffect::Exit(Exit::Code(7))]);
    assert_eq!(worker_ended(&mut monitor, Death::Success, Stage::Over), [], "it is over");

    let (mut monitor, _) = with_a_node();
    monitor.on(at(1), MonitorInput::Reported(Report::Become(vec![])));
    let ended = worker_ended(&mut monitor, Death::Success, Stage::Waiting);
    assert_eq!(ended, [MonitorEffect::Become(vec![])]);
}

#[test]
fn a_worker_that_leaves_runs_on() {
    let mut monitor = monitor();
    let left = monitor.on(at(1), MonitorInput::Reported(Report::Leave(Exit::Signal(2))));
    assert_eq!(left, [MonitorEffect::Exit(Exit::Signal(2))]);
    assert_eq!(worker_ended(&mut monitor, Death::Killed(9), Stage::Waiting), [], "it is over");
}

#[test]
fn zklock_stops_unless_it_was_continued_meanwhile() {
    let mut monitor = monitor();
    let stop = || MonitorInput::Reported(Report::Stop { signal: TSTP, whole_group: true, continued: 0 });
    assert_eq!(monitor.on(at(1), stop()), [MonitorEffect::Stop { signal: TSTP, whole_group: true }]);
    assert_eq!(monitor.on(at(1), MonitorInput::Relayed(SIGCONT)), []);
    assert_eq!(monitor.on(at(1), stop()), []);
}

#[test]
fn a_dead_worker_takes_a_running_command_along() {
    let (mut monitor, remains) = with_a_node();
    let ended = worker_ended(&mut monitor, Death::Killed(9), Stage::Running);
    assert_eq!(ended, [MonitorEffect::EndEverybody]);
    let late = MonitorInput::Reported(Report::Exit(Exit::Code(3)));
    assert_eq!(monitor.on(at(2), late), [], "a report that was sent before the end counts");
    assert_eq!(
        monitor.on(at(3), MonitorInput::Ended(shown(Stage::Running), None)),
        [
            MonitorEffect::TakeTerminal,
            told(WorkersEnd::Found(Death::Killed(9)), Stage::Running),
            MonitorEffect::Clean(remains),
        ]
    );
    assert_eq!(
        monitor.on(at(4), MonitorInput::Cleaned(false)),
        [MonitorEffect::Say(Ending::Node { gone: false }), MonitorEffect::Exit(Exit::Code(3))]
    );
    assert_eq!(monitor.on(at(5), MonitorInput::Cleaned(true)), [], "it is over");
}

#[test]
fn a_dead_worker_before_or_after_the_command_kills_no_process() {
    for (death, stage) in [(Death::Failure, Stage::Waiting), (Death::Success, Stage::Over)] {
        let mut monitor = monitor();
        assert_eq!(worker_ended(&mut monitor, death, stage), [MonitorEffect::EndNobody]);
        assert_eq!(
            monitor.on(at(3), MonitorInput::Ended(shown(stage), None)),
            [
                MonitorEffect::TakeTerminal,
                told(WorkersEnd::Found(death), stage),
                MonitorEffect::Exit(Exit::Code(FAILURE)),
            ],
            "no node is left"
        );
    }
}

#[test]
fn a_node_that_may_come_to_exist_is_looked_for() {
    let mut monitor = monitor();
    worker_ended(&mut monitor, Death::Killed(11), Stage::Waiting);
    let ended = monitor.on(at(3), MonitorInput::Ended(shown(Stage::Waiting), Some("/locks/a/n-".to_owned())));
    let remains =
        Remains { session_timeout: TIMEOUT, nodes: vec![], entering: Some("/locks/a/n-".to_owned()) };
    assert_eq!(ended.last(), Some(&MonitorEffect::Clean(remains)));
    assert_eq!(
        monitor.on(at(4), MonitorInput::Cleaned(true)),
        [MonitorEffect::Say(Ending::Node { gone: true }), MonitorEffect::Exit(Exit::Code(FAILURE))]
    );
}

#[test]
fn a_worker_that_lets_its_deadline_pass_is_ended() {
    for (stage, effect, exit) in [
        (Stage::Running, MonitorEffect::EndEverybody, LOST),
        (Stage::Over, MonitorEffect::EndWorker, FAILURE),
    ] {
        let mut monitor = monitor();
        let shown = Shown { deadline: Some(at(8)), ..shown(stage) };
        assert_eq!(monitor.wake_at(shown), Some(at(8)));
        assert_eq!(monitor.on(at(7), MonitorInput::Looked(shown)), []);
        assert_eq!(monitor.on(at(8), MonitorInput::Looked(shown)), [effect]);
        assert_eq!(monitor.wake_at(shown), None, "it has acted");
        assert_eq!(monitor.on(at(9), MonitorInput::Looked(shown)), [], "it has acted");
        let ended = monitor.on(at(9), MonitorInput::Ended(shown, None));
        assert_eq!(
            ended[1..],
            [told(WorkersEnd::StoodStill(Why::Frozen), stage), MonitorEffect::Exit(Exit::Code(exit))]
        );
    }
}

#[test]
fn a_waiter_that_does_not_react_is_ended() {
    let mut monitor = monitor();
    assert_eq!(monitor.on(at(1), MonitorInput::Relayed(SIGTERM)), []);
    let looked = || MonitorInput::Looked(shown(Stage::Waiting));
    assert_eq!(monitor.on(at(2), looked()), []);
    assert_eq!(monitor.on(at(3), looked()), [MonitorEffect::EndEverybody]);
    let ended = monitor.on(at(3), MonitorInput::Ended(shown(Stage::Waiting), None));
    assert_eq!(ended.last(), Some(&MonitorEffect::Exit(Exit::Signal(SIGTERM))));
}

#[test]
fn a_user_can_give_up_a_process_that_does_not_end() {
    let (mut monitor, _) = with_a_node();
    worker_ended(&mut monitor, Death::Unknown, Stage::Running);
    let gave_up = monitor.on(at(9), MonitorInput::GaveUp(shown(Stage::Running)));
    assert_eq!(gave_up, [MonitorEffect::Exit(Exit::Code(LOST))], "the node is left to the session");
}

#[test]
fn each_end_of_a_worker_has_its_words() {
    let worker = |cause, stage| Ending::Worker { cause, stage };
    for (ending, level, words) in [
        (
            worker(WorkersEnd::StoodStill(Why::Frozen), Stage::Over),
            Level::Error,
            "the worker process stood still during the release; the command had ended before",
        ),
        (
            worker(WorkersEnd::StoodStill(Why::Frozen), Stage::Running),
            Level::Error,
            "the worker process stood still until the lease was nearly over; the command was stopped with all its \
             processes",
        ),
        (
            worker(WorkersEnd::StoodStill(Why::Deaf(SIGTERM)), Stage::Waiting),
            Level::Error,
            "the worker process stood still and didn't react to SIGTERM; the command was not started",
        ),
        (
            worker(WorkersEnd::Found(Death::Killed(9)), Stage::Running),
            Level::Error,
            "the worker process was killed by signal 9; the command was stopped with all its processes",
        ),
        (
            worker(WorkersEnd::Found(Death::Failure), Stage::Waiting),
            Level::Error,
            "the worker process failed; the command was not started",
        ),
        (
            worker(WorkersEnd::Found(Death::Unknown), Stage::Over),
            Level::Error,
            "the worker process is gone; the command had ended before",
        ),
        (Ending::Node { gone: true }, Level::Warning, "the lock node is gone"),
        (Ending::Node { gone: false }, Level::Warning, "the lock node is deleted when its session times out"),
    ] {
        assert_eq!((ending.level(), ending.to_string()), (level, words.to_owned()));
    }
}
