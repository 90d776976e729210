//! Stories of a command that runs.

use super::script::{OURS, Script, TIMEOUT, node, plan, record, seconds};
use crate::exit::Exit;
use crate::protocol::{Asker, LockIndex, ReadNode, Reply, RequestError, SessionChange};
use crate::queue::record::Record;
use crate::run::{Effect, Input, KillRound, LeaderChange, Plan, Reach};
use crate::signal::{SIGCONT, SIGKILL, SIGTERM, SIGTSTP, SIGTTIN};

const TRANSCRIPTS: &str = "running";

#[test]
fn a_zklock_alone_runs_its_command_and_releases() {
    let mut script = Script::of(plan()).in_full();
    script.running().pass(1.5).tick().pass(4.0).tick().confirmed(4.0, Ok(())).pass(5.0).signal(SIGTERM);
    script.reaped(Exit::Signal(SIGTERM)).session(SessionChange::Closed).is(TRANSCRIPTS, "alone");
}

/// The servers count from then at the earliest, however late zklock hears from them.
#[test]
fn a_lease_counts_from_before_the_connect_request() {
    let deadline = |answered| {
        let mut script = Script::of(plan());
        let connected = SessionChange::Connected { id: OURS, timeout: TIMEOUT, began: Script::moment(0.5) };
        script.at(answered).session(connected).created(0, 1).listed(0, &[], 1);
        let own = script.own(1);
        script.read(&own, node(OURS, 1, &record("web1", 7)));
        (0..3).flat_map(|_| script.effects(Input::Tick)).find_map(|effect| match effect {
            Effect::StartCommand { deadline, .. } => deadline,
            _ => None,
        })
    };
    assert!(deadline(0.6).is_some());
    assert_eq!(deadline(2.0), deadline(0.6));
}

#[test]
fn a_lost_lease_stops_the_command_in_time() {
    let mut script = Script::of(plan());
    script.running().pass(3.0).session(SessionChange::Disconnected);
    script.pass(9.9).tick().pass(10.0).tick().on(Input::Child).on(Input::Children {
        leader: None,

        none_left: None,
    });
    script.pass(12.0).tick();
    let round = |gone, left: &[&str]| {
        let left = left.iter().map(|&left| left.to_owned()).collect();
        Input::KillRound(KillRound { gone, next: None, stuck: !gone, left })
    };
    script
        .on(round(false, &["process 9 (sh) doesn't end after KILL: it waits in the kernel"]))
        .tick()
        .on(round(true, &[]));
    script
        .on(Input::Children { leader: Some(LeaderChange::Died { by: None }), none_left: Some(Reach::All) })
        .on(Input::Reaped(Some(Exit::Code(7))));
    script.pass(17.1).tick().is(TRANSCRIPTS, "lease_over");
}

/// Its session keeps the lock as long as a process doesn't end.
#[test]
fn a_worker_that_goes_on_killing_after_the_lease_end_is_left_alone() {
    let mut script = Script::of(plan());
    script.running().pass(3.0).session(SessionChange::Disconnected).pass(12.0).tick();
    for (at, next) in [(12.0, 12.1), (12.1, 12.4), (12.4, 13.0)] {
        let next = Some(Script::moment(next));
        script.at(at).on(Input::KillRound(KillRound { gone: false, next, stuck: false, left: vec![] }));
    }
    let left = vec!["process 9 (sh) doesn't end after KILL: it waits in the kernel".to_owned()];
    script.at(13.0).on(Input::KillRound(KillRound { gone: false, next: None, stuck: true, left }));
    script.records_only(&["SetDeadline"]).is(TRANSCRIPTS, "killing_on");
}

/// It could never tell that nothing is left, and what it doesn't see runs on.
#[test]
fn a_worker_that_can_not_see_what_is_left_is_not_left_alone_for_long() {
    let mut script = Script::of(plan());
    script.running().pass(3.0).session(SessionChange::Disconnected).pass(12.0).tick();
    for at in [12.0, 13.0, 14.0, 15.0] {
        let next = Some(Script::moment(at + 1.0));
        script.at(at).on(Input::KillRound(KillRound { gone: false, next, stuck: false, left: vec![] }));
    }
    script.records_only(&["SetDeadline"]).is(TRANSCRIPTS, "killing_blindly");
}

#[test]
fn a_silent_server_and_a_slow_line_are_named() {
    let mut script = Script::of(plan());
    script.running().pass(1.2).tick().pass(4.0).tick().pass(10.0).tick().is(TRANSCRIPTS, "server_silent");
    let mut script = Script::of(plan());
    script
        .running()
        .pass(1.0)
        .session(SessionChange::Disconnected)
        .pass(9.5)
        .session(SessionChange::Reconnected);
    script.pass(10.0).tick().is(TRANSCRIPTS, "line_was_away");
    let mut script = Script::of(plan());
    script.running().at(30.0).tick().is(TRANSCRIPTS, "stood_still");
    let mut script = Script::of(plan());
    script
        .running()
        .pass(5.0)
        .tick()
        .pass(5.1)
        .confirmed(5.0, Ok(()))
        .at(7.0)
        .tick()
        .at(15.1)
        .tick()
        .is(TRANSCRIPTS, "stood_still_and_confirmed");
}

/// The stop would have begun at 10 s.
#[test]
fn the_end_of_a_command_before_the_lease_end_is_its_own_however_late_zklock_is() {
    for (now, name) in [(11.9, "late_for_the_end"), (12.0, "late_for_the_lease_end")] {
        let mut script = Script::of(plan());
        let died = Some(LeaderChange::Died { by: None });
        script.running().at(now).on(Input::Child);
        script.on(Input::Children { leader: died, none_left: Some(Reach::All) });
        script.on(Input::Reaped(Some(Exit::Code(7)))).tick().records_only(&[
            "Warning",
            "Kill",
            "SetDeadline",
            "CommandIsOver",
        ]);
        script.is(TRANSCRIPTS, name);
    }
}

#[test]
fn every_loss_of_the_lock_stops_the_command() {
    for (change, name) in [
        (SessionChange::Lost(RequestError::Expired), "session_expired"),
        (SessionChange::Lost(RequestError::GivenUp), "session_given_up"),
    ] {
        let mut script = Script::of(plan());
        script.running().pass(3.0).session(change).tick().pass(5.0).tick().all_killed();
        script.reaped(Exit::Signal(9)).on(Input::Cleaned(false)).is(TRANSCRIPTS, name);
    }
    let mut script = Script::of(plan());
    let gone = format!("/locks/a/{}", script.running().own(1));
    script
        .pass(3.0)
        .reply(Asker::Lock(LockIndex(0)), Reply::Changed(gone.into(), true))
        .tick()
        .reaped(Exit::Code(0));
    script.session(SessionChange::Closed).is(TRANSCRIPTS, "node_deleted");
    let mut script = Script::of(plan());
    script
        .running()
        .pass(3.0)
        .tick()
        .confirmed(3.0, Err(RequestError::NoNode))
        .tick()
        .reaped(Exit::Code(0))
        .is(TRANSCRIPTS, "node_gone");
    let mut script = Script::of(plan());
    script.running().pass(3.0).on(Input::MonitorDied).tick().all_killed().reaped(Exit::Code(0));
    script.session(SessionChange::Closed).is(TRANSCRIPTS, "monitor_died");
}

#[test]
fn a_revoked_lock_is_kept_until_the_command_is_gone() {
    let mut script = Script::of(Plan { kill_after: seconds(30.0), ..plan() });
    script.running();
    let own = script.own(1);
    let revoked = Record { revoked_by: Some("web5:1".to_owned()), ..record("web1", 7) };
    script
        .pass(3.0)
        .reply(Asker::Lock(LockIndex(0)), Reply::Changed(format!("/locks/a/{own}").into(), false));
    script.read(&own, node(OURS, 1, &revoked)).tick().confirmed(3.0, Ok(())).pass(4.0).tick();
    script
        .session(SessionChange::Lost(RequestError::Expired))
        .tick()
        .all_killed()
        .reaped(Exit::Code(0))
        .is(TRANSCRIPTS, "revoked_and_lost");
}

#[test]
fn a_revoked_command_has_the_whole_grace_while_the_lease_is_renewed() {
    let revoked = Record { revoked_by: Some("web5:1".to_owned()), ..record("web1", 7) };
    // Without answers the lease ends before the grace does.
    for (answered_until, name) in [(40, "revoked_in_full"), (5, "revoked_and_silent")] {
        let mut script = Script::of(Plan { kill_after: seconds(30.0), ..plan() });
        script.running();
        let own = script.own(1);
        for second in 1_u8..35 {
            script.pass(second.into()).tick();
            if second == 3 {
                let changed = Reply::Changed(format!("/locks/a/{own}").into(), false);
                script.reply(Asker::Lock(LockIndex(0)), changed).read(&own, node(OURS, 1, &revoked));
            }
            if second == 9 {
                script.pass(9.8).tick();
            }
            if second < answered_until {
                script.confirmed(f64::from(second) - 0.1, Ok(()));
            }
        }
        script.keeps_lines(&["revoked", "Kill", "Tick"]).is(TRANSCRIPTS, name);
    }
}

#[test]
fn a_command_is_reaped_once_all_its_processes_are_gone() {
    let mut script = Script::of(plan());
    script.running().pass(3.0).session(SessionChange::Lost(RequestError::Expired)).on(Input::Child);
    let leader_died =
        |none_left| Input::Children { leader: Some(LeaderChange::Died { by: None }), none_left };
    script.on(leader_died(None)).on(Input::Children { leader: None, none_left: None });
    script
        .on(Input::Children { leader: None, none_left: Some(Reach::All) })
        .is(TRANSCRIPTS, "reaped_when_none_is_left");
}

#[test]
fn a_node_that_can_not_be_read_any_more_loses_the_lock() {
    let mut script = Script::of(plan());
    script.running();
    let own = script.own(1);
    script
        .pass(3.0)
        .reply(Asker::Lock(LockIndex(0)), Reply::Changed(format!("/locks/a/{own}").into(), false))
        .read(&own, ReadNode::Hidden)
        .is(TRANSCRIPTS, "own_node_hidden");
}

#[test]
fn a_holder_asks_for_nothing_but_confirmations() {
    let mut script = Script::of(plan());
    script.running();
    for second in 2_u8..6 {
        script.pass(second.into()).tick().confirmed(f64::from(second), Ok(()));
    }
    script.keeps_lines(&["asks:"]).is(TRANSCRIPTS, "confirmations");
}

/// The command's first process is killed by another process, and is reaped once nothing of the command is left.
fn killed_by_another(script: &mut Script, then: impl FnOnce(&mut Script)) -> &mut Script {
    let died = LeaderChange::Died { by: Some(SIGKILL) };
    script.on(Input::Child).on(Input::Children { leader: Some(died), none_left: None }).tick();
    then(script);
    script.all_killed().on(Input::Children { leader: None, none_left: Some(Reach::All) });
    script.on(Input::Reaped(Some(Exit::Signal(SIGKILL))))
}

#[test]
fn a_command_killed_by_another_process_keeps_its_own_code() {
    let lose = |script: &mut Script| {
        script.session(SessionChange::Lost(RequestError::Expired)).tick();
    };
    // The loss is noticed while the rest of the command is being killed.
    let mut script = Script::of(plan());
    killed_by_another(script.running().pass(3.0), lose);
    script.keeps_lines(&["Over", "Warning", "Error", "Kill", "killed"]);
    script.is(TRANSCRIPTS, "killed_before_the_loss");
    // zklock had begun to stop it.
    let mut script = Script::of(plan());
    lose(script.running().pass(3.0));
    killed_by_another(&mut script, |_| ());
    script.keeps_lines(&["Over", "Warning", "Error", "Kill"]).is(TRANSCRIPTS, "killed_while_it_is_stopped");
}

#[test]
fn the_death_of_the_monitor_hides_no_loss() {
    let monitor_dies = |script: &mut Script| {
        let gone = Reply::Changed(format!("/locks/a/{}", script.own(1)).into(), true);
        script.pass(3.0).reply(Asker::Lock(LockIndex(0)), gone).tick().on(Input::MonitorDied).tick();
        script.all_killed().reaped(Exit::Signal(SIGKILL));
    };
    let mut script = Script::of(plan());
    monitor_dies(script.running());
    script.keeps_lines(&["Over", "Warning", "Error", "Kill"]).is(TRANSCRIPTS, "deleted_and_monitor_died");
}

#[test]
fn a_command_that_stops_keeps_its_lock() {
    let mut script = Script::of(Plan { has_terminal: true, ..plan() });
    let leader = |change| Input::Children { leader: Some(change), none_left: None };
    script.running().pass(0.3).on(Input::Key(SIGTSTP)).on(leader(LeaderChange::Stopped(SIGTSTP)));
    script.pass(1.0).tick().pass(2.0).signal(SIGCONT).on(leader(LeaderChange::Continued)).pass(3.0).tick();
    script.is(TRANSCRIPTS, "suspended");
    let mut script = Script::of(Plan { has_terminal: true, ..plan() });
    script.running().on(leader(LeaderChange::Stopped(SIGTTIN))).on(leader(LeaderChange::Continued));
    script.session(SessionChange::Lost(RequestError::Expired)).on(leader(LeaderChange::Stopped(SIGTSTP)));
    script.is(TRANSCRIPTS, "suspended_without_the_lock");
}

#[test]
fn problems_with_the_servers_are_reported_while_the_command_runs() {
    let mut script = Script::of(plan());
    script.running().pass(1.2).tick().confirmed(1.2, Err(RequestError::Quota)).pass(1.3).tick();
    script
        .session(SessionChange::Disconnected)
        .session(SessionChange::Reconnected)
        .pass(2.5)
        .tick()
        .pass(2.6);
    script.confirmed(2.5, Ok(())).is(TRANSCRIPTS, "unconfirmed");
}
