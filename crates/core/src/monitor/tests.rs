use super::*;
use crate::exit::{FAILURE, LOST};
use crate::message::Level;
use crate::signal::{SIGINT, SIGTERM, SIGWINCH};

const TIMEOUT: Duration = Duration::from_secs(9);
const TSTP: i32 = 20;

const fn at(seconds: u64) -> BootTime {
    BootTime::from_nanos(seconds * 1_000_000_000)
}

fn worker(stage: Stage) -> WorkerState {
    WorkerState { stage, deadline: None, taken: 0 }
}

fn monitor() -> Monitor {
    Monitor::new(TIMEOUT, false)
}

/// A monitor that was told of one node, and of nothing else.
fn with_a_node() -> (Monitor, LeftoverNodes) {
    let nodes = vec![LockNode { path: "/locks/a/n".into(), czxid: 5 }];
    let mut monitor = monitor();
    let report = Report::Nodes { session_timeout: 4000, nodes: nodes.clone() };
    assert_eq!(monitor.on(at(1), MonitorInput::Reported(report)), []);
    (monitor, LeftoverNodes { session_timeout: Duration::from_secs(4), nodes, pending_create: None })
}

fn worker_ended(monitor: &mut Monitor, death: Death, stage: Stage) -> Vec<MonitorEffect> {
    assert_eq!(monitor.on(at(2), MonitorInput::WorkerDied(death)), [], "its reports come first");
    monitor.on(at(2), MonitorInput::Looked(worker(stage)))
}

fn says(failure: WorkerFailure, stage: Stage) -> MonitorEffect {
    MonitorEffect::Say(MonitorMessage::Worker { failure, stage })
}

fn exits(exit: Exit) -> MonitorEffect {
    MonitorEffect::Finish(exit)
}

#[test]
fn an_ordinary_run_ends_as_the_worker_said() {
    let (mut monitor, _) = with_a_node();
    assert_eq!(monitor.on(at(1), MonitorInput::Reported(Report::Exit(Exit::Code(7)))), []);
    let ended = worker_ended(&mut monitor, Death::Success, Stage::Over);
    assert_eq!(ended, [exits(Exit::Code(7))]);
    assert_eq!(worker_ended(&mut monitor, Death::Success, Stage::Over), [], "it is over");
}

#[test]
fn a_worker_that_leaves_runs_on() {
    let mut monitor = monitor();
    let left = monitor.on(at(1), MonitorInput::Reported(Report::ExitNow(Exit::Signal(2))));
    assert_eq!(left, [exits(Exit::Signal(2))]);
    assert_eq!(worker_ended(&mut monitor, Death::Killed(9), Stage::Waiting), [], "it is over");
}

#[test]
fn a_worker_that_leaves_and_ends_at_once_ends_zklock_once() {
    let mut monitor = monitor();
    assert_eq!(monitor.on(at(1), MonitorInput::WorkerDied(Death::Success)), []);
    assert_eq!(monitor.on(at(1), MonitorInput::Reported(Report::ExitNow(Exit::Signal(2)))), []);
    let looked = MonitorInput::Looked(worker(Stage::Waiting));
    assert_eq!(monitor.on(at(1), looked), [exits(Exit::Signal(2))]);
}

/// A monitor that was stopped for as long as the worker released a revoked lock, and longer.
#[test]
fn a_worker_that_has_ended_isn_t_frozen_although_its_deadline_has_passed() {
    let mut monitor = monitor();
    monitor.on(at(90), MonitorInput::WorkerDied(Death::Success));
    monitor.on(at(90), MonitorInput::Reported(Report::Exit(Exit::Code(LOST))));
    let over = WorkerState { deadline: Some(at(20)), ..worker(Stage::Over) };
    assert_eq!(monitor.on(at(90), MonitorInput::Looked(over)), [exits(Exit::Code(LOST))]);
}

#[test]
fn a_worker_that_was_to_leave_and_was_killed_before_is_cleaned_up_first() {
    let (mut monitor, leftover) = with_a_node();
    worker_ended(&mut monitor, Death::Killed(9), Stage::Waiting);
    assert_eq!(monitor.on(at(2), MonitorInput::Reported(Report::ExitNow(Exit::Signal(2)))), []);
    let ended = monitor.on(at(3), MonitorInput::Ended(worker(Stage::Waiting), None));
    assert_eq!(ended.last(), Some(&MonitorEffect::Clean(leftover)));
}

#[test]
fn an_exit_code_doesn_t_excuse_a_worker_that_is_killed_after_it() {
    let (mut monitor, _) = with_a_node();
    monitor.on(at(1), MonitorInput::Reported(Report::Exit(Exit::Code(7))));
    assert_eq!(worker_ended(&mut monitor, Death::Killed(9), Stage::Over), [MonitorEffect::EndNobody]);
}

#[test]
fn zklock_stops_unless_it_was_continued_meanwhile() {
    let mut monitor = monitor();
    let stop = |continued| MonitorInput::Reported(Report::Suspend { signal: TSTP, continued });
    let stops = [MonitorEffect::Suspend(TSTP)];
    assert_eq!(monitor.on(at(1), stop(0)), stops);
    assert_eq!(monitor.on(at(1), MonitorInput::Relayed(SIGCONT)), []);
    assert_eq!(monitor.on(at(1), stop(0)), [], "it crossed the continue");
    assert_eq!(monitor.on(at(1), stop(1)), stops);
    worker_ended(&mut monitor, Death::Killed(9), Stage::Running);
    assert_eq!(monitor.on(at(3), stop(1)), [], "it was sent before the worker's end");
}

#[test]
fn a_dead_worker_takes_a_running_command_along() {
    let (mut monitor, leftover) = with_a_node();
    let ended = worker_ended(&mut monitor, Death::Killed(9), Stage::Running);
    assert_eq!(ended, [MonitorEffect::EndEverybody]);
    let late = MonitorInput::Reported(Report::Exit(Exit::Code(3)));
    assert_eq!(monitor.on(at(2), late), [], "a report that was sent before the end counts");
    assert_eq!(
        monitor.on(at(3), MonitorInput::Ended(worker(Stage::Running), None)),
        [MonitorEffect::ExtendTimeout(leftover.session_timeout + LEAVING), MonitorEffect::Clean(leftover),]
    );
    assert_eq!(
        monitor.on(at(4), MonitorInput::Cleaned(false)),
        [
            says(WorkerFailure::Dead(Death::Killed(9)), Stage::Running),
            MonitorEffect::Say(MonitorMessage::Node { gone: false }),
            exits(Exit::Code(3)),
        ],
        "words come after deeds"
    );
    assert_eq!(monitor.on(at(5), MonitorInput::Cleaned(true)), [], "it is over");
}

#[test]
fn a_dead_worker_before_or_after_the_command_kills_no_process() {
    for (death, stage) in [(Death::Failure, Stage::Waiting), (Death::Success, Stage::Over)] {
        let mut monitor = monitor();
        assert_eq!(worker_ended(&mut monitor, death, stage), [MonitorEffect::EndNobody]);
        assert_eq!(
            monitor.on(at(3), MonitorInput::Ended(worker(stage), None)),
            [says(WorkerFailure::Dead(death), stage), exits(Exit::Code(FAILURE)),],
            "no node is left"
        );
    }
}

#[test]
fn a_node_that_may_come_to_exist_is_looked_for() {
    let mut monitor = monitor();
    worker_ended(&mut monitor, Death::Killed(11), Stage::Waiting);
    let ended =
        monitor.on(at(3), MonitorInput::Ended(worker(Stage::Waiting), Some("/locks/a/n-".to_owned())));
    let leftover = LeftoverNodes {
        session_timeout: TIMEOUT,
        nodes: vec![],
        pending_create: Some("/locks/a/n-".to_owned()),
    };
    assert_eq!(ended.last(), Some(&MonitorEffect::Clean(leftover)));
    assert_eq!(
        monitor.on(at(4), MonitorInput::Cleaned(true)),
        [
            says(WorkerFailure::Dead(Death::Killed(11)), Stage::Waiting),
            MonitorEffect::Say(MonitorMessage::Node { gone: true }),
            exits(Exit::Code(FAILURE)),
        ]
    );
}

/// The state of a worker whose lease is nearly over at this second.
fn running_until(second: u64) -> WorkerState {
    WorkerState { deadline: Some(at(second)), ..worker(Stage::Running) }
}

/// The state of a worker that waits and has taken in this many signals.
fn waiting(taken: u64) -> WorkerState {
    WorkerState { taken, ..worker(Stage::Waiting) }
}

fn relay(monitor: &mut Monitor, signal: i32, second: u64) {
    assert_eq!(monitor.on(at(second), MonitorInput::Relayed(signal)), []);
}

#[test]
fn a_worker_that_lets_its_deadline_pass_is_frozen() {
    let mut monitor = monitor();
    assert_eq!(monitor.wake_at(running_until(10)), Some(at(10)));
    assert_eq!(monitor.failure(running_until(10), at(9)), None);
    assert_eq!(monitor.failure(running_until(10), at(10)), Some(WorkerFailure::Frozen));
    assert_eq!(monitor.failure(running_until(11), at(10)), None, "the lease was renewed meanwhile");
    assert_eq!(monitor.failure(worker(Stage::Running), at(99)), None);
}

/// The machine slept, or both processes were frozen: then the worker's own timer kills it first.
#[test]
fn a_worker_killed_after_its_deadline_was_frozen() {
    for (second, failure) in [(9, WorkerFailure::Dead(Death::Killed(9))), (10, WorkerFailure::Frozen)] {
        let mut monitor = monitor();
        monitor.on(at(second), MonitorInput::WorkerDied(Death::Killed(9)));
        monitor.on(at(second), MonitorInput::Looked(running_until(10)));
        assert_eq!(monitor.state, MonitorState::TakingOver(failure));
    }
}

#[test]
fn a_waiter_has_two_seconds_to_react_to_a_signal_that_ends_it() {
    let mut monitor = monitor();
    relay(&mut monitor, SIGWINCH, 1);
    relay(&mut monitor, SIGTERM, 2);
    relay(&mut monitor, SIGINT, 3);
    assert_eq!(monitor.wake_at(waiting(0)), Some(at(4)));
    assert_eq!(monitor.failure(waiting(1), at(3)), None);
    assert_eq!(monitor.failure(waiting(1), at(4)), Some(WorkerFailure::IgnoresSignal(SIGTERM)));
    assert_eq!(monitor.failure(waiting(2), at(4)), None, "the worker took in the first signal");
    assert_eq!(monitor.wake_at(waiting(2)), Some(at(5)));
    let running = WorkerState { taken: 2, ..worker(Stage::Running) };
    assert_eq!(monitor.failure(running, at(9)), None, "a running command has no such limit");
    assert_eq!(monitor.failure(waiting(3), at(9)), None);
}

#[test]
fn a_waiter_that_heard_of_a_signal_and_never_ends_is_ended() {
    let mut monitor = monitor();
    assert_eq!(monitor.wake_at(waiting(1)), None);
    relay(&mut monitor, SIGTERM, 2);
    assert_eq!(monitor.failure(waiting(1), at(16)), None, "the servers may be slow");
    assert_eq!(monitor.wake_at(waiting(1)), Some(at(17)));
    assert_eq!(monitor.failure(waiting(1), at(17)), Some(WorkerFailure::IgnoresSignal(SIGTERM)));
    let over = WorkerState { taken: 1, ..worker(Stage::Over) };
    assert_eq!(monitor.failure(over, at(99)), None, "the success of a command is recorded");
}

#[test]
fn the_exit_code_after_a_failure_shows_whether_the_command_was_stopped() {
    let mut monitor = monitor();
    let dead = WorkerFailure::Dead(Death::Killed(9));
    let [waiting, running, over] = [Stage::Waiting, Stage::Running, Stage::Over].map(worker);
    assert_eq!(monitor.exit(&dead, waiting), Exit::Code(FAILURE));
    assert_eq!(monitor.exit(&WorkerFailure::Frozen, running), Exit::Code(LOST));
    assert_eq!(monitor.exit(&WorkerFailure::IgnoresSignal(SIGTERM), waiting), Exit::Signal(15));
    monitor.on(at(1), MonitorInput::Reported(Report::Exit(Exit::Code(3))));
    assert_eq!(monitor.exit(&dead, over), Exit::Code(3), "the command had ended, so its exit code is kept");
}

#[test]
fn a_worker_that_lets_its_deadline_pass_is_ended() {
    for (stage, effect, exit) in [
        (Stage::Running, MonitorEffect::EndEverybody, LOST),
        (Stage::Over, MonitorEffect::EndWorker, FAILURE),
    ] {
        let mut monitor = monitor();
        let worker = WorkerState { deadline: Some(at(8)), ..worker(stage) };
        assert_eq!(monitor.wake_at(worker), Some(at(8)));
        assert_eq!(monitor.on(at(7), MonitorInput::Looked(worker)), []);
        assert_eq!(monitor.on(at(8), MonitorInput::Looked(worker)), [effect]);
        assert_eq!(monitor.wake_at(worker), None, "it has acted");
        assert_eq!(monitor.on(at(9), MonitorInput::Looked(worker)), [], "it has acted");
        let ended = monitor.on(at(9), MonitorInput::Ended(worker, None));
        assert_eq!(ended, [says(WorkerFailure::Frozen, stage), exits(Exit::Code(exit))]);
    }
}

#[test]
fn a_waiter_that_does_not_react_is_ended() {
    let mut monitor = monitor();
    assert_eq!(monitor.on(at(1), MonitorInput::Relayed(SIGTERM)), []);
    let looked = || MonitorInput::Looked(worker(Stage::Waiting));
    assert_eq!(monitor.on(at(2), looked()), []);
    assert_eq!(monitor.on(at(3), looked()), [MonitorEffect::EndEverybody]);
    let ended = monitor.on(at(3), MonitorInput::Ended(worker(Stage::Waiting), None));
    assert_eq!(ended.last(), Some(&exits(Exit::Signal(SIGTERM))));
}

#[test]
fn a_user_can_give_up_a_process_that_does_not_end() {
    let (mut monitor, _) = with_a_node();
    worker_ended(&mut monitor, Death::Unknown, Stage::Running);
    let gave_up = monitor.on(at(9), MonitorInput::GaveUp(worker(Stage::Running)));
    assert_eq!(gave_up, [exits(Exit::Code(LOST))], "the node is left to the session");
}

#[test]
fn a_success_that_may_not_be_recorded_is_told() {
    for (records, code, is_told) in [(true, 0, true), (true, 7, false), (false, 0, false)] {
        let mut monitor = Monitor::new(TIMEOUT, records);
        monitor.on(at(1), MonitorInput::Reported(Report::Exit(Exit::Code(code))));
        worker_ended(&mut monitor, Death::Killed(9), Stage::Over);
        let ended = monitor.on(at(3), MonitorInput::Ended(worker(Stage::Over), None));
        assert_eq!(
            ended.contains(&MonitorEffect::Say(MonitorMessage::RecordUncertain)),
            is_told,
            "{ended:?}"
        );
    }
}

#[test]
fn each_end_of_a_worker_has_its_words() {
    let worker = |failure, stage| MonitorMessage::Worker { failure, stage };
    for (message, level, words) in [
        (
            worker(WorkerFailure::Frozen, Stage::Over),
            Level::Error,
            "the worker process hung during the release; the command had ended before",
        ),
        (
            worker(WorkerFailure::Frozen, Stage::Running),
            Level::Error,
            "the worker process hung until the lease was nearly over; the command was stopped with all its \
             processes",
        ),
        (
            worker(WorkerFailure::IgnoresSignal(SIGTERM), Stage::Waiting),
            Level::Error,
            "the worker process hung and didn't react to SIGTERM; the command was not started",
        ),
        (
            worker(WorkerFailure::Dead(Death::Killed(9)), Stage::Running),
            Level::Error,
            "the worker process was killed by signal 9; the command was stopped with all its processes",
        ),
        (
            worker(WorkerFailure::Dead(Death::Failure), Stage::Waiting),
            Level::Error,
            "the worker process failed; the command was not started",
        ),
        (
            worker(WorkerFailure::Dead(Death::Unknown), Stage::Over),
            Level::Error,
            "the worker process is gone; the command had ended before",
        ),
        (
            MonitorMessage::RecordUncertain,
            Level::Error,
            "the success may not be recorded, so the next run may not be skipped",
        ),
        (MonitorMessage::Node { gone: true }, Level::Warning, "the lock node is gone"),
        (
            MonitorMessage::Node { gone: false },
            Level::Warning,
            "the lock node is deleted when its session times out",
        ),
    ] {
        assert_eq!((message.level(), message.to_string()), (level, words.to_owned()));
    }
}

/// It looks at the worker's state first: what it can still learn of a worker that has ended counts.
#[test]
fn a_monitor_that_can_not_watch_ends_the_worker_and_the_command() {
    let why = || "can't wait: I/O error".to_owned();
    for (stage, expected, code) in [
        (Stage::Waiting, MonitorEffect::EndEverybody, FAILURE),
        (Stage::Running, MonitorEffect::EndEverybody, LOST),
        (Stage::Over, MonitorEffect::EndWorker, FAILURE),
    ] {
        let (mut monitor, leftover) = with_a_node();
        assert_eq!(monitor.on(at(1), MonitorInput::CannotWatch(why())), []);
        assert_eq!(monitor.on(at(1), MonitorInput::Looked(worker(stage))), [expected]);
        let ended = monitor.on(at(2), MonitorInput::Ended(worker(stage), None));
        assert!(
            matches!(&ended[..], [.., MonitorEffect::Clean(cleaned)] if *cleaned == leftover),
            "{ended:?}"
        );
        let done = monitor.on(at(3), MonitorInput::Cleaned(true));
        let node = MonitorEffect::Say(MonitorMessage::Node { gone: true });
        assert_eq!(done, [says(WorkerFailure::Unwatched(why()), stage), node, exits(Exit::Code(code))]);
    }
    let (mut monitor, _) = with_a_node();
    monitor.on(at(1), MonitorInput::Reported(Report::Exit(Exit::Code(7))));
    monitor.on(at(1), MonitorInput::CannotWatch(why()));
    assert_eq!(worker_ended(&mut monitor, Death::Success, Stage::Over), [exits(Exit::Code(7))]);
}
