use proptest::prelude::*;

use super::*;
use crate::run::JobEffect::{
    ContinueStopped, Kill, LookAtChildren, Reap, Resume, SignalAll, SignalGroup, SignalLeader,
};
use crate::run::tests::script::plan;
use crate::signal::{RTMIN, SIGHUP, SIGQUIT, SIGSEGV, SIGTTIN, SIGTTOU, SIGUSR1, SIGWINCH};

const NOW: BootTime = BootTime::from_nanos(1_000_000_000);

fn job(signal: i32, single_child: bool) -> Supervisor {
    Supervisor::new(&Plan { signal, single_child, ..plan() })
}

fn running_job() -> Supervisor {
    job(SIGTERM, false)
}

fn at_a_terminal() -> Supervisor {
    Supervisor::new(&Plan { has_terminal: true, ..plan() })
}

const SOON: BootTime = BootTime::from_nanos(2_000_000_000);
const LATE: BootTime = BootTime::from_nanos(9_000_000_000);

fn must_stop() -> JobInput {
    JobInput::MustStop { grace: Duration::from_secs(1), kill_at: LATE }
}

const LOOKS: Effect = Effect::Job(LookAtChildren(Reach::Group));

const ENDS: Effect = Effect::Job(ContinueStopped);

fn leader_stopped(signal: i32) -> JobInput {
    JobInput::Leader(LeaderChange::Stopped(signal))
}

const CONTINUED: JobInput = JobInput::Leader(LeaderChange::Continued);

const NONE_LEFT: JobInput = JobInput::NoneLeft(Reach::All);

const TICK: JobInput = JobInput::Tick { latest: LATE };

/// Checks that with this input it is time to kill the job, and that nothing else follows from it.
fn check_kills(supervisor: &mut Supervisor, input: JobInput, now: BootTime) {
    if input != TICK {
        assert_eq!(supervisor.on(TICK, now), [], "before {input:?}");
        assert_eq!(supervisor.on(input, now), []);
    }
    assert_eq!(supervisor.on(TICK, now), [Effect::Job(Kill { latest: LATE })], "{input:?}");
    assert_eq!(supervisor.kills_at(), None, "{input:?}");
}

fn stopping() -> Supervisor {
    let mut supervisor = running_job();
    assert_eq!(
        supervisor.on(must_stop(), NOW),
        [Effect::Job(SignalAll(SIGTERM)), Effect::Job(SignalAll(SIGCONT))],
        "a stopped process can't end"
    );
    supervisor
}

#[test]
fn a_signal_is_only_forwarded() {
    let mut supervisor = running_job();
    assert_eq!(supervisor.on(JobInput::Signalled(SIGTERM), NOW), [Effect::Job(SignalGroup(SIGTERM)), ENDS]);
    assert_eq!(supervisor.kills_at(), None, "no grace begins");
    assert_eq!(supervisor.on(JobInput::Leader(LeaderChange::Died { by: None }), LATE), [Effect::Job(Reap)]);
    assert_eq!(supervisor.end(), Some(JobEnd::ByItself));
}

#[test]
fn a_command_that_was_killed_is_over_when_nothing_of_it_is_left() {
    let mut supervisor = running_job();
    let killed = JobInput::Leader(LeaderChange::Died { by: Some(SIGKILL) });
    check_kills(&mut supervisor, killed, NOW);
    assert_eq!(supervisor.end(), None);
    assert_eq!(supervisor.on(must_stop(), NOW), [], "no TERM follows");
    assert_eq!(supervisor.on(killed, NOW), [], "seen again");
    assert_eq!(supervisor.on(NONE_LEFT, NOW), [Effect::Job(Reap)]);
    assert_eq!(supervisor.end(), Some(JobEnd::ByItself), "the loss came after its death");
}

#[test]
fn a_term_to_the_command_alone_goes_to_its_group_once() {
    let died = JobInput::Leader(LeaderChange::Died { by: Some(SIGTERM) });
    let mut supervisor = running_job();
    assert_eq!(supervisor.on(died, NOW), [Effect::Job(SignalGroup(SIGTERM)), ENDS, LOOKS]);
    assert_eq!(supervisor.on(died, NOW), [], "seen again");
    let mut supervisor = running_job();
    supervisor.on(JobInput::Signalled(SIGTERM), NOW);
    supervisor.on(leader_stopped(SIGTSTP), NOW);
    assert_eq!(supervisor.on(CONTINUED, NOW), []);
    assert_eq!(supervisor.on(died, NOW), [LOOKS], "the group has got it");
    for by in [SIGINT, SIGHUP, SIGQUIT] {
        let died = JobInput::Leader(LeaderChange::Died { by: Some(by) });
        assert_eq!(running_job().on(died, NOW), [LOOKS]);
    }
    for by in [None, Some(SIGUSR1), Some(SIGSEGV)] {
        assert_eq!(running_job().on(JobInput::Leader(LeaderChange::Died { by }), NOW), [Effect::Job(Reap)]);
    }
}

#[test]
fn the_rest_of_the_group_may_end_after_a_signal_that_killed_its_leader() {
    let died = |single_child| {
        let mut supervisor = job(SIGTERM, single_child);
        supervisor.on(JobInput::Signalled(SIGTERM), NOW);
        supervisor.on(JobInput::Leader(LeaderChange::Died { by: Some(SIGTERM) }), NOW);
        assert_eq!(supervisor.end(), None);
        supervisor
    };
    let mut supervisor = died(false);
    assert_eq!((supervisor.awaits(), supervisor.rest_until()), (Reach::Group, Some(NOW + plan().kill_after)));
    assert_eq!(supervisor.on(TICK, SOON), [ENDS, LOOKS], "a stopped process can't end");
    assert_eq!(supervisor.on(JobInput::NoneLeft(Reach::Group), SOON), [Effect::Job(Reap)]);
    assert_eq!((supervisor.end(), supervisor.rest_until()), (Some(JobEnd::ByItself), None));
    let mut supervisor = died(false);
    assert_eq!(supervisor.on(TICK, NOW + plan().kill_after), [ENDS, LOOKS], "it may have ended just now");
    assert_eq!(supervisor.on(TICK, NOW + plan().kill_after), [Effect::Job(Reap)], "it is left alone then");
    let more = died(true).on(JobInput::Signalled(SIGHUP), SOON);
    assert_eq!(more, [Effect::Job(SignalGroup(SIGHUP)), ENDS], "there is no leader any more");
    for single_child in [false, true] {
        let mut lost = died(single_child);
        let all = [SIGTERM, SIGCONT].map(|signal| Effect::Job(SignalAll(signal)));
        assert_eq!(lost.on(must_stop(), NOW), all);
        assert_eq!(lost.awaits(), Reach::All);
        assert_eq!(lost.on(JobInput::NoneLeft(Reach::Group), NOW), [], "others may be left");
        assert_eq!(lost.on(NONE_LEFT, NOW), [Effect::Job(Reap)]);
        assert_eq!(lost.end(), Some(JobEnd::Stopped));
    }
}

#[test]
fn a_forced_stop_kills_after_the_grace_and_waits_for_the_last_process() {
    let mut supervisor = stopping();
    assert_eq!(supervisor.kills_at(), Some(SOON));
    assert_eq!(supervisor.on(TICK, NOW), []);
    check_kills(&mut supervisor, TICK, SOON);
    assert_eq!(supervisor.on(JobInput::Leader(LeaderChange::Died { by: None }), SOON), []);
    assert_eq!(supervisor.on(TICK, SOON), [Effect::Job(Kill { latest: LATE })], "until none is left");
    assert_eq!(supervisor.on(NONE_LEFT, SOON), [Effect::Job(Reap)]);
    assert_eq!(supervisor.end(), Some(JobEnd::Stopped));
}

#[test]
fn the_lease_cuts_the_grace_short() {
    let mut supervisor = running_job();
    supervisor.on(JobInput::MustStop { grace: Duration::from_mins(1), kill_at: SOON }, NOW);
    assert_eq!(supervisor.kills_at(), Some(SOON));
    let mut supervisor = running_job();
    let too_late_for_term = JobInput::MustStop { grace: Duration::from_mins(1), kill_at: NOW };
    check_kills(&mut supervisor, too_late_for_term, NOW);
}

#[test]
fn a_second_signal_within_the_grace_kills_immediately() {
    for signal in [SIGTERM, SIGINT] {
        check_kills(&mut stopping(), JobInput::Signalled(signal), NOW);
    }
}

#[test]
fn at_a_terminal_zklock_stops_and_continues_with_the_first_process() {
    for (signal, stops) in [(SIGTTIN, SIGTTIN), (SIGTTOU, SIGTTOU), (SIGTSTP, SIGTSTP), (SIGSTOP, SIGTSTP)] {
        let mut supervisor = at_a_terminal();
        assert_eq!(supervisor.on(leader_stopped(signal), NOW), [Effect::Suspend(stops)]);
        assert!(supervisor.is_suspended());
        assert_eq!(supervisor.on(CONTINUED, NOW), [Effect::ContinueMonitor]);
        assert!(!supervisor.is_suspended());
    }
}

#[test]
fn without_a_terminal_only_the_command_stops() {
    let mut supervisor = running_job();
    assert_eq!(supervisor.on(leader_stopped(SIGSTOP), NOW), []);
    assert!(supervisor.is_suspended());
    assert_eq!(supervisor.on(CONTINUED, NOW), []);
    assert!(!supervisor.is_suspended());
}

#[test]
fn what_the_terminal_sent_is_not_forwarded() {
    for signal in [SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGWINCH] {
        assert_eq!(at_a_terminal().on(JobInput::Key(signal), NOW), []);
    }
    let mut supervisor = at_a_terminal();
    supervisor.on(must_stop(), NOW);
    check_kills(&mut supervisor, JobInput::Key(SIGINT), NOW);
}

#[test]
fn at_a_terminal_a_continue_is_for_a_stopped_command() {
    let mut supervisor = at_a_terminal();
    assert_eq!(supervisor.on(JobInput::Signalled(SIGCONT), NOW), []);
    supervisor.on(leader_stopped(SIGTSTP), NOW);
    assert_eq!(supervisor.on(JobInput::Signalled(SIGCONT), NOW), [Effect::Job(Resume)]);
}

#[test]
fn signals_that_end_a_job_reach_its_stopped_processes_too() {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        let effects = running_job().on(JobInput::Signalled(signal), NOW);
        assert_eq!(effects, [Effect::Job(SignalGroup(signal)), ENDS]);
    }
    for signal in [SIGCONT, SIGTSTP, SIGUSR1] {
        let effects = running_job().on(JobInput::Signalled(signal), NOW);
        assert_eq!(effects, [Effect::Job(SignalGroup(signal))]);
    }
}

fn single_child() -> Supervisor {
    job(SIGTERM, true)
}

#[test]
fn a_single_child_alone_gets_forwarded_signals() {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        let effects = single_child().on(JobInput::Signalled(signal), NOW);
        assert_eq!(effects, [Effect::Job(SignalLeader(signal)), ENDS], "a stopped process can't be ended");
    }
    for signal in [SIGUSR1, SIGWINCH, SIGCONT, SIGTSTP, RTMIN + 3] {
        let effects = single_child().on(JobInput::Signalled(signal), NOW);
        assert_eq!(effects, [Effect::Job(SignalLeader(signal))]);
    }
}

#[test]
fn a_single_child_alone_gets_the_first_signal_of_a_stop_and_all_are_killed() {
    let begins = |supervisor: &mut Supervisor, signal| {
        let expected = [Effect::Job(SignalLeader(signal)), Effect::Job(SignalLeader(SIGCONT)), ENDS];
        assert_eq!(supervisor.on(must_stop(), NOW), expected);
    };
    let mut supervisor = single_child();
    begins(&mut supervisor, SIGTERM);
    begins(&mut job(RTMIN, true), RTMIN);
    assert_eq!(supervisor.on(JobInput::Leader(LeaderChange::Died { by: None }), NOW), []);
    assert_eq!(supervisor.end(), None, "its descendants live");
    check_kills(&mut supervisor, TICK, SOON);
    assert_eq!(supervisor.on(NONE_LEFT, SOON), [Effect::Job(Reap)]);
    assert_eq!(supervisor.end(), Some(JobEnd::Stopped));
    let mut supervisor = single_child();
    begins(&mut supervisor, SIGTERM);
    check_kills(&mut supervisor, JobInput::Signalled(SIGINT), NOW);
}

/// It was to end the others in its own way, and can't any more.
#[test]
fn a_signal_that_kills_a_single_child_goes_to_the_rest_of_its_group() {
    let died = |by| JobInput::Leader(LeaderChange::Died { by });
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        let mut supervisor = single_child();
        supervisor.on(JobInput::Signalled(signal), NOW);
        let effects = supervisor.on(died(Some(signal)), NOW);
        assert_eq!(effects, [Effect::Job(SignalGroup(signal)), ENDS, LOOKS]);
    }
    let effects = single_child().on(died(Some(SIGTERM)), NOW);
    assert_eq!(effects, [Effect::Job(SignalGroup(SIGTERM)), ENDS, LOOKS]);
    for (by, then) in
        [(None, Reap.into()), (Some(SIGINT), LOOKS), (Some(SIGHUP), LOOKS), (Some(SIGUSR1), Reap.into())]
    {
        let mut supervisor = single_child();
        supervisor.on(JobInput::Signalled(SIGTERM), NOW);
        supervisor.on(JobInput::Signalled(SIGUSR1), NOW);
        assert_eq!(supervisor.on(died(by), NOW), [then]);
    }
    check_kills(&mut single_child(), died(Some(SIGKILL)), NOW);
}

#[test]
fn a_forced_stop_goes_on_with_all_if_its_first_signal_kills_a_single_child() {
    let died = |by| JobInput::Leader(LeaderChange::Died { by });
    for signal in [SIGTERM, SIGKILL, RTMIN] {
        let stops = |single_child| {
            let mut supervisor = job(signal, single_child);
            supervisor.on(must_stop(), NOW);
            supervisor
        };
        let all = [Effect::Job(SignalAll(signal)), Effect::Job(SignalAll(SIGCONT))];
        let mut supervisor = stops(true);
        assert_eq!(supervisor.on(died(Some(signal)), NOW), all);
        assert_eq!(
            supervisor.on(died(Some(signal)), NOW),
            [],
            "once, though its death is seen again and again"
        );
        assert_eq!(supervisor.end(), None, "its descendants live");
        check_kills(&mut supervisor, TICK, SOON);
        for by in [None, Some(SIGUSR1)] {
            assert_eq!(stops(true).on(died(by), NOW), [], "it may have asked them to end");
        }
        assert_eq!(stops(false).on(died(Some(signal)), NOW), [], "all have got it");
        let mut killed = stops(true);
        check_kills(&mut killed, TICK, SOON);
        assert_eq!(killed.on(died(Some(signal)), SOON), []);
    }
}

#[test]
fn a_stop_that_has_begun_may_only_become_shorter() {
    let at = |seconds| NOW + Duration::from_secs(seconds);
    let must_stop =
        |grace, kill_at| JobInput::MustStop { grace: Duration::from_secs(grace), kill_at: at(kill_at) };
    let mut supervisor = running_job();
    supervisor.on(must_stop(9, 20), NOW);
    assert_eq!(supervisor.kills_at(), Some(at(9)));
    assert_eq!(supervisor.on(must_stop(9, 5), NOW), []);
    assert_eq!(supervisor.kills_at(), Some(at(5)));
    supervisor.on(must_stop(3, 20), NOW);
    assert_eq!(supervisor.kills_at(), Some(at(3)));
    supervisor.on(must_stop(30, 30), NOW);
    assert_eq!(supervisor.kills_at(), Some(at(3)));
    assert_eq!(supervisor.on(NONE_LEFT, NOW), [], "the leader isn't dead");
    check_kills(&mut supervisor, JobInput::Signalled(SIGTERM), NOW);
    assert_eq!(supervisor.on(JobInput::Signalled(SIGTERM), NOW), [], "it is killed already");
    assert_eq!(supervisor.kills_at(), None, "it is killed already");
}

fn input() -> impl Strategy<Value = JobInput> {
    let signals = || prop::sample::select(vec![SIGTERM, SIGINT, SIGCONT, SIGTSTP, 10]);
    let stops = prop::sample::select(vec![SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]);
    prop_oneof![
        signals().prop_map(JobInput::Signalled),
        signals().prop_map(JobInput::Key),
        stops.prop_map(leader_stopped),
        Just(CONTINUED),
        prop::sample::select(vec![None, Some(SIGTERM), Some(SIGKILL)])
            .prop_map(|by| JobInput::Leader(LeaderChange::Died { by })),
        prop::sample::select(vec![Reach::Group, Reach::All]).prop_map(JobInput::NoneLeft),
        Just(JobInput::Tick { latest: NOW }),
        (0u64..3_000, 0u64..9_000).prop_map(|(grace, kill_at)| JobInput::MustStop {
            grace: Duration::from_millis(grace),
            kill_at: BootTime::from_nanos(kill_at * 1_000_000),
        }),
    ]
}

proptest! {
    #[test]
    fn the_order_is_kept_for_any_events(single_child in any::<bool>(), has_terminal in any::<bool>(), events in prop::collection::vec((input(), 0u64..500), 0..60)) {
        let mut supervisor = Supervisor::new(&Plan { single_child, has_terminal, ..plan() });
        let (mut now, mut died, mut none_left, mut reaped) = (NOW, false, false, 0);
        let (mut forced, mut stopped) = (false, false);
        let end = [TICK, JobInput::Leader(LeaderChange::Died { by: None }), NONE_LEFT].map(|input| (input, 10_000));
        for (input, pause) in events.into_iter().chain(end) {
            now = now + Duration::from_millis(pause);
            stopped |= (!died || supervisor.rest_until().is_some()) && matches!(input, JobInput::MustStop { .. });
            died |= matches!(input, JobInput::Leader(LeaderChange::Died { .. }));
            // The leader dies before no other process is left.
            if matches!(input, JobInput::NoneLeft(_)) && !died { continue; }
            none_left |= input == NONE_LEFT;
            let was_running = supervisor.end().is_none();
            let forces = matches!(input, JobInput::MustStop { .. } | JobInput::Leader(LeaderChange::Died { by: Some(SIGKILL) }));
            forced |= was_running && forces;
            for effect in supervisor.on(input, now) {
                prop_assert_eq!(reaped, 0, "no effect may follow the reap: {:?}", effect);
                match effect {
                    Effect::Job(Reap) => {
                        prop_assert!(died, "the leader is reaped only once it is dead");
                        prop_assert!(none_left || !forced, "a forced stop leaves no process");
                        reaped += 1;
                    }
                    Effect::Job(SignalAll(_) | Kill { .. }) => prop_assert!(forced),
                    _ if single_child && matches!(input, JobInput::MustStop { .. }) => prop_assert!(forced),
                    _ => prop_assert!(!forced, "a job that is being stopped is never resumed: {:?}", effect),
                }
            }
            prop_assert_eq!(supervisor.end().is_some(), reaped == 1);
        }
        prop_assert_eq!(reaped, 1, "the leader is reaped exactly once");
        prop_assert_eq!(supervisor.end(), Some(if stopped { JobEnd::Stopped } else { JobEnd::ByItself }));
    }
}
