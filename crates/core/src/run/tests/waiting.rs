//! Stories of the queue.

use std::ffi::OsStr;

use super::script::{OURS, Script, THEIRS, held, lock, node, other, plan, record, seconds};
use crate::environment::{HELD, held_outside};
use crate::path::LockPath;
use crate::protocol::{Asker, LockIndex, Node, Reply, RequestError, SessionChange};
use crate::queue::name::Mode;
use crate::queue::once::record_path;
use crate::queue::record::Record;
use crate::run::{Input, Plan, Variables};
use crate::signal::{SIGCONT, SIGINT, SIGTSTP, SIGUSR1};

fn with_deadline(after: f64) -> Plan {
    let plan = plan();
    let (give_up_at, connect_timeout) = (Some(plan.began + seconds(after)), seconds(after));
    Plan { give_up_at, connect_timeout, connect_option: "-w", ..plan }
}

/// The other contender's node is deleted, and zklock's node is first.
fn becomes_first(script: &mut Script) -> &mut Script {
    let path = format!("/locks/a/{}", other(8));
    script.reply(Asker::Lock(LockIndex(0)), Reply::Changed(path.into(), true)).listed(0, &[], 9)
}

const TRANSCRIPTS: &str = "waiting";

#[test]
fn a_waiter_names_its_predecessor_and_runs_after_it() {
    let mut script = Script::of(plan()).in_full();
    script.behind(&[8], "web2").at(1.2).tick().confirmed(1.2, Ok(()));
    becomes_first(script.at(3.0));
    let own = script.own(9);
    script.read(&own, node(OURS, 9, &record("web1", 7))).tick().tick();
    script.is(TRANSCRIPTS, "waits_and_runs");
}

/// A waiter on a terminal, which shows the line in place of the messages of `--progress`.
fn with_line() -> Plan {
    Plan { shows_line: true, progress: Some(seconds(2.0)), ..with_deadline(60.0) }
}

#[test]
fn the_line_follows_the_queue_and_ends_with_the_wait() {
    let mut script = Script::of(with_line());
    script.behind(&[3, 8], "web2").pass(2.5).confirmed(2.2, Ok(())).session(SessionChange::Disconnected);
    let said = SessionChange::ServersSay(vec!["zk1:2181: connection refused; a remedy".to_owned()]);
    script.pass(3.0).session(said).pass(4.5).session(SessionChange::Reconnected).tick();
    becomes_first(&mut script);
    let own = script.own(9);
    script.read(&own, node(OURS, 9, &record("web1", 7))).tick();
    script.keeps_lines(&["Line(", "Step", "Notice"]).is(TRANSCRIPTS, "line");
}

#[test]
fn a_long_wait_is_told_now_and_then() {
    let mut script = Script::of(Plan { progress: Some(seconds(5.0)), ..plan() });
    script.behind(&[8], "web2").tick().at(2.1).tick().confirmed(2.1, Ok(()));
    script.at(5.1).tick().at(9.0).tick().at(10.2).tick().is(TRANSCRIPTS, "progress");
}

#[test]
fn a_wait_for_servers_is_told_once_it_is_long() {
    let said = |what: &str| SessionChange::ServersSay(vec![format!("zk1:2181: {what}; a remedy")]);
    let mut script = Script::of(with_deadline(8.0));
    script.tick().at(0.9).session(said("connection refused")).tick().pass(3.0);
    script.session(said("timed out")).tick().session(said("timed out")).pass(4.0);
    script.connected().tick().pass(7.0).is(TRANSCRIPTS, "connects_for_long");

    let mut script = Script::of(Plan { progress: Some(seconds(2.0)), ..with_deadline(8.0) });
    script.tick().session(said("connection refused")).pass(5.0);
    script.records_only(&["Step", "Notice"]).is(TRANSCRIPTS, "progress_of_connecting");
    let mut script = Script::of(Plan { shows_line: true, ..with_deadline(8.0) });
    script.tick().session(said("connection refused")).pass(3.0).connected();
    script.at(3.1).created(0, 9).listed(0, &[], 9).pass(4.0);
    script.keeps_lines(&["Line("]).is(TRANSCRIPTS, "line_of_connecting");
}

#[test]
fn nothing_is_reported_of_a_wait_that_is_over() {
    let mut script = Script::of(Plan { progress: Some(seconds(5.0)), ..plan() });
    script.behind(&[8], "web2");
    becomes_first(script.at(3.0)).session(SessionChange::Disconnected).pass(11.0);
    script.is(TRANSCRIPTS, "no_progress_once_first");
}

#[test]
fn a_waiter_gives_up_at_its_deadline() {
    let mut script = Script::of(with_deadline(3.0));
    script.behind(&[8], "web2").at(2.9).tick().confirmed(2.9, Ok(())).at(3.0).tick();
    script.session(SessionChange::Closed).is(TRANSCRIPTS, "gives_up");
}

#[test]
fn a_waiter_that_heard_nothing_for_long_is_not_busy() {
    let mut script = Script::of(with_deadline(8.0));
    script.behind(&[8], "web2").at(3.0).session(SessionChange::Disconnected).at(8.0).tick();
    script.at(13.1).tick().is(TRANSCRIPTS, "last_seen_busy");
}

/// The last answer came at 0.1 s, and half the session timeout is 6 s.
#[test]
fn an_answer_counts_for_half_the_session_timeout() {
    for (end, name) in [(6.1, "busy_half_a_timeout_ago"), (6.101, "busy_longer_ago")] {
        let plan = Plan { progress: Some(seconds(end - 0.1)), ..with_deadline(end) };
        let mut script = Script::of(plan);
        script.behind(&[8], "web2").tick().at(end).tick();
        script.records_only(&["Warning", "Notice"]).is(TRANSCRIPTS, name);
    }
}

#[test]
fn a_deadline_without_an_answer_is_an_error() {
    let mut script = Script::of(with_deadline(2.0));
    script.connected().at(2.0).tick().is(TRANSCRIPTS, "no_answer");
    let mut script = Script::of(with_deadline(2.0));
    script.at(2.0).tick().at(5.0).tick().is(TRANSCRIPTS, "kept_busy");
    let mut script = Script::of(with_deadline(2.0));
    script
        .at(2.0)
        .session(SessionChange::Unreachable(vec!["zk1:2181: refused".to_owned()]))
        .is(TRANSCRIPTS, "unreachable");
    let mut script = Script::of(plan());
    script
        .at(10.0)
        .session(SessionChange::Unreachable(vec![]))
        .is(TRANSCRIPTS, "unreachable_without_a_limit");
    for (end, name) in [(0.1, "unreachable_at_once"), (10.0, "unreachable_in_time_without_waiting")] {
        let mut script = Script::of(Plan { nonblock: true, ..plan() });
        script.at(end).session(SessionChange::Unreachable(vec![])).is(TRANSCRIPTS, name);
    }
}

#[test]
fn a_deadline_before_a_fresh_lease_is_an_error() {
    let mut script = Script::of(with_deadline(4.0));
    script.first().session(SessionChange::Disconnected).tick();
    script.at(4.0).tick().is(TRANSCRIPTS, "not_confirmed");
}

#[test]
fn a_busy_lock_ends_a_zklock_that_does_not_wait() {
    let mut script = Script::of(Plan { nonblock: true, ..plan() });
    script.connected().at(0.1).reply(Asker::Lock(LockIndex(0)), Reply::Listed(Ok(vec![other(8)])));
    script
        .read(&other(8), node(THEIRS, 8, &record("web2", 30)))
        .session(SessionChange::Closed)
        .is(TRANSCRIPTS, "busy");
    let mut script = Script::of(Plan { nonblock: true, conflict_exit_code: 0, ..plan() });
    script
        .connected()
        .at(0.1)
        .reply(Asker::Lock(LockIndex(0)), Reply::Listed(Ok(vec![])))
        .at(9.9)
        .tick()
        .at(10.0)
        .tick();
    script.is(TRANSCRIPTS, "nonblock_without_an_answer");
}

#[test]
fn a_signal_ends_a_waiter() {
    let mut script = Script::of(plan());
    script
        .behind(&[8], "web2")
        .signal(SIGUSR1)
        .signal(SIGINT)
        .signal(SIGUSR1)
        .tick()
        .session(SessionChange::Closed);
    script.is(TRANSCRIPTS, "interrupted");
    let mut script = Script::of(plan());
    script.behind(&[8], "web2").signal(SIGINT).signal(SIGINT).is(TRANSCRIPTS, "interrupted_twice");
    let mut script = Script::of(plan());
    script
        .behind(&[8], "web2")
        .on(Input::MonitorDied)
        .at(5.1)
        .tick()
        .is(TRANSCRIPTS, "monitor_died_while_waiting");
    let mut script = Script::of(plan());
    script
        .connected()
        .signal(SIGINT)
        .on(Input::MonitorDied)
        .at(6.0)
        .tick()
        .is(TRANSCRIPTS, "interrupted_while_entering");
}

#[test]
fn a_session_that_ends_costs_only_the_place() {
    let mut script = Script::of(plan());
    script.behind(&[8], "web2").session(SessionChange::Disconnected).at(3.0);
    script.session(SessionChange::Lost(RequestError::Expired));
    script.behind(&[8], "web2").tick().is(TRANSCRIPTS, "queues_again");
    for (failure, has_credentials, name) in [
        (RequestError::AuthFailed, true, "credentials_refused"),
        (RequestError::AuthFailed, false, "no_credentials"),
        (
            RequestError::Other("the ZooKeeper client failed at what the server said".to_owned()),
            false,
            "session_failed",
        ),
    ] {
        let mut script = Script::of(Plan { has_credentials, ..plan() });
        script
            .behind(&[8], "web2")
            .session(SessionChange::Lost(failure))
            .on(Input::Cleaned(true))
            .is(TRANSCRIPTS, name);
    }
    let mut script = Script::of(plan());
    script.behind(&[8], "web2").session(SessionChange::Closed).is(TRANSCRIPTS, "session_closed");
}

#[test]
fn a_deleted_place_is_told_from_an_ended_session() {
    let gone = |script: &Script| Reply::Changed(format!("/locks/a/{}", script.own(9)).into(), true);
    for (result, name) in [
        (Err(RequestError::NoNode), "place_deleted"),
        (Ok(()), "place_deleted_and_its_name_used_again"),
        (Err(RequestError::ConnectionLost), "place_deleted_and_the_line_cut"),
        (Err(RequestError::Quota), "place_deleted_and_not_confirmed"),
    ] {
        let mut script = Script::of(plan());
        script.behind(&[8], "web2");
        let reply = gone(&script);
        script.at(0.5).reply(Asker::Lock(LockIndex(0)), reply).tick().at(0.6).confirmed(0.5, result).tick();
        script.session(SessionChange::Closed).is(TRANSCRIPTS, name);
    }
    let mut script = Script::of(plan());
    script.behind(&[8], "web2").at(1.2).tick().confirmed(1.2, Err(RequestError::NoNode));
    script.session(SessionChange::Closed).is(TRANSCRIPTS, "place_gone_when_confirmed");
}

#[test]
fn a_revoked_place_is_an_error() {
    let mut script = Script::of(plan());
    script.behind(&[8], "web2");
    let own = script.own(9);
    let revoked = Record { revoked_by: Some("web5:1".to_owned()), ..record("web1", 7) };
    script.reply(Asker::Lock(LockIndex(0)), Reply::Changed(format!("/locks/a/{own}").into(), false));
    script
        .read(&own, node(OURS, 9, &revoked))
        .session(SessionChange::Closed)
        .is(TRANSCRIPTS, "place_revoked");
}

#[test]
fn a_stopped_waiter_leaves_the_queue_and_queues_again() {
    let mut script = Script::of(with_line());
    script
        .behind(&[8], "web2")
        .tick()
        .at(0.5)
        .signal(SIGTSTP)
        .tick()
        .session(SessionChange::Closed)
        .pass(3.5);
    script.signal(SIGCONT).connected().tick().is(TRANSCRIPTS, "stopped");
    // It is continued before it has left.
    let mut script = Script::of(with_deadline(60.0));
    script.behind(&[8], "web2").signal(SIGTSTP).signal(SIGCONT).signal(SIGTSTP).signal(SIGCONT);
    script.session(SessionChange::Disconnected).session(SessionChange::Reconnected);
    script.session(SessionChange::Closed).connected().is(TRANSCRIPTS, "continued_while_leaving");
    let mut script = Script::of(with_deadline(60.0));
    script.behind(&[8], "web2").signal(SIGTSTP).session(SessionChange::Closed).at(60.0).tick();
    script.is(TRANSCRIPTS, "gave_up_while_stopped");
    let mut script = Script::of(with_deadline(60.0));
    script.signal(SIGTSTP).session(SessionChange::Unreachable(vec![])).tick().at(63.0).tick();
    script.is(TRANSCRIPTS, "stopped_while_connecting");
}

/// `zklock /locks/b /locks/a /locks/c -- job`, waiting for the first in order, `/locks/a`.
fn waits_for_the_first_of_three(give_up_after: f64) -> Script {
    let locks: Vec<LockPath> = ["/locks/b", "/locks/a", "/locks/c"].into_iter().map(lock).collect();
    let mut script = Script::of(Plan { locks, ..with_deadline(give_up_after) });
    script.behind(&[8], "web2");
    script
}

#[test]
fn a_lock_that_was_busy_is_remembered() {
    // The next lock isn't answered for before the deadline.
    let mut script = waits_for_the_first_of_three(4.0);
    becomes_first(script.at(3.0)).at(4.0).tick();
    script.keeps_lines(&["Warning", "Error", "Release"]).is(TRANSCRIPTS, "busy_before_the_next_lock");
    // Nor is any lock, in the session after the one in which it was busy.
    let mut script = waits_for_the_first_of_three(4.0);
    script.at(3.0).session(SessionChange::Lost(RequestError::Expired)).connected().at(4.0).tick();
    script.keeps_lines(&["Warning", "Error", "Release"]).is(TRANSCRIPTS, "busy_before_the_session");
    // No server has answered for too long.
    let mut script = waits_for_the_first_of_three(10.0);
    becomes_first(script.at(3.0)).pass(10.0).at(10.0).tick();
    script.session(SessionChange::Closed);
    script.keeps_lines(&["Warning", "Error", "Release"]).is(TRANSCRIPTS, "busy_and_then_silent");
}

#[test]
fn a_place_that_can_not_be_confirmed_is_an_error() {
    let mut script = Script::of(plan());
    script.behind(&[8], "web2").pass(3.0).confirmed(2.9, Err(RequestError::NoAuth));
    script.session(SessionChange::Closed).is(TRANSCRIPTS, "place_hidden");
}

#[test]
fn nothing_starts_before_a_write_to_the_own_node_is_read() {
    let mut script = Script::of(plan());
    script.holds().begun();
    let own = script.own(1);
    let changed = Reply::Changed(format!("/locks/a/{own}").into(), false);
    script.reply(Asker::Lock(LockIndex(0)), changed).tick().read(&own, node(OURS, 1, &record("web1", 7)));
    script.tick().is(TRANSCRIPTS, "own_node_is_read_first");
}

#[test]
fn a_slow_line_starts_no_command() {
    let mut script = Script::of(Plan { kill_after: seconds(2.0), ..plan() });
    script.connected().at(4.5).created(0, 1).listed(0, &[], 1);
    let own = script.own(1);
    script.read(&own, node(OURS, 1, &record("web1", 7))).tick();
    // 2T in which answers arrive.
    for sent in [5.5, 11.0, 16.5, 22.0, 27.5] {
        script.at(sent).tick().at(sent + 4.4).confirmed(sent, Ok(())).tick();
    }
    script.session(SessionChange::Closed).is(TRANSCRIPTS, "slow_line");
}

#[test]
fn a_lease_that_is_too_short_is_renewed_before_the_start() {
    let mut script = Script::of(plan());
    script.first().at(9.0).tick().tick().confirmed(9.0, Err(RequestError::ConnectionLost));
    script.at(9.3).tick().at(9.4).confirmed(9.3, Ok(())).tick().pass(12.1).tick();
    for sent in [12.1, 13.2, 14.3, 15.4, 16.5, 17.6, 18.7] {
        script.at(sent).tick().at(sent + 0.1).confirmed(sent, Ok(())).tick();
    }
    script.is(TRANSCRIPTS, "awaits_a_lease");
}

#[test]
fn a_contender_without_permission_says_so() {
    let mut script = Script::of(plan());
    script.connected().at(0.1).reply(Asker::Lock(LockIndex(0)), Reply::Created(Err(RequestError::NoAuth)));
    script
        .reply(Asker::Lock(LockIndex(0)), Reply::Listed(Ok(vec![])))
        .session(SessionChange::Closed)
        .is(TRANSCRIPTS, "no_permission");
}

#[test]
fn two_locks_are_queued_for_one_after_the_other() {
    let locks = vec![lock("/locks/b"), lock("/locks/a")];
    let mut script = Script::of(Plan { locks, ..plan() });
    script.connected().at(0.1).created(0, 1).listed(0, &[], 1);
    let own = script.own(1);
    script.read(&own, node(OURS, 1, &record("web1", 7))).at(0.2).created(1, 5).listed(1, &[4], 5);
    script.reply(
        Asker::Lock(LockIndex(1)),
        Reply::Read(format!("/locks/b/{}", other(4)).into(), Ok(node(THEIRS, 4, &record("web2", 30)).into())),
    );
    script.session(SessionChange::Disconnected).session(SessionChange::Reconnected).at(1.2).tick();
    script.at(2.0).signal(SIGINT).session(SessionChange::Closed).is(TRANSCRIPTS, "two_locks");
}

#[test]
fn a_slot_is_free_while_fewer_hold() {
    let mut script = Script::of(Plan { mode: Mode::Slots(2), ..plan() }).in_full();
    script.connected().at(0.1).created(0, 9);
    let own = script.own(9);
    let names = ["01", "02"]
        .map(|number| other(0).replace("lock-0000000000", &format!("slots2-lock-00000000{number}")));
    let listed = names.iter().cloned().chain([own.clone()]).collect();
    script.reply(Asker::Lock(LockIndex(0)), Reply::Listed(Ok(listed)));
    for name in &names {
        script.read(name, node(THEIRS, 1, &record("web2", 30)));
    }
    script.reply(Asker::Lock(LockIndex(0)), Reply::Changed(format!("/locks/a/{}", names[0]).into(), true));
    let behind = names[1].replace("0000000002", "0000000010");
    script
        .reply(Asker::Lock(LockIndex(0)), Reply::Listed(Ok(vec![names[1].clone(), own, behind])))
        .tick()
        .is(TRANSCRIPTS, "slots");
}

/// The plan of a zklock whose variables say that `/locks/a` is held around it.
fn inside(mode: Mode, locks: &[&str]) -> Plan {
    let outer = vec![held("/locks/a", &format!("/locks/a/{}", other(3)), 3)];
    let locks: Vec<LockPath> = locks.iter().map(|path| lock(path)).collect();
    Plan { locks, mode, outer, ..plan() }
}

#[test]
fn a_lock_that_is_held_around_zklock_is_not_queued_for() {
    let outer = || inside(Mode::Exclusive, &["/locks/a"]).outer;
    assert_eq!(inside(Mode::Exclusive, &["/locks/b"]).said_to_be_held(), []);
    assert_eq!(inside(Mode::Exclusive, &["/locks/b", "/locks/a"]).said_to_be_held(), outer());
    let value = |variables: &Variables, name: &str| {
        variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap()
    };
    let variables = inside(Mode::Shared, &["/locks/a"]).enter(outer()).unwrap().unwrap();
    assert_eq!(value(&variables, "ZKLOCK_PATH"), "/locks/a");
    assert_eq!(held_outside(Some(OsStr::new(&value(&variables, HELD)))), outer());

    let mut one_more = inside(Mode::Exclusive, &["/locks/a", "/locks/b"]);
    assert_eq!(one_more.enter(outer()), Ok(None));
    Script::of(one_more).connected().is(TRANSCRIPTS, "inside_with_one_more");

    let mut weak = inside(Mode::Slots(2), &["/locks/b", "/locks/a"]);
    let (path, why) = weak.enter(outer()).unwrap_err();
    assert_eq!(path, lock("/locks/a"));
    assert!(why.text.contains("ask for one of 2 slots outside too"), "{why}");
    let mut once = Plan { once_per: Some(seconds(60.0)), ..inside(Mode::Exclusive, &["/locks/a"]) };
    assert!(once.enter(outer()).unwrap_err().1.text.contains("put --once-per there"));
}

#[test]
fn a_recent_success_skips_the_command() {
    let once = || Plan { once_per: Some(seconds(60.0)), ..plan() };
    let mut script = Script::of(once());
    script.first();
    let last = br#"{"by":{"version":1,"host":"web4","pid":3,"user":"ann","program":"job","mode":"exclusive","slots":1},"fencing_token":1}"#;
    let recorded = Node { data: last.to_vec(), ..node(0, 5, &record("x", 1)) };
    script.once(Ok(recorded)).tick().session(SessionChange::Closed).is(TRANSCRIPTS, "skipped");
    let mut script = Script::of(once());
    script
        .first()
        .reply(Asker::Once, Reply::Read(record_path("/locks/a"), Err(RequestError::NoAuth)))
        .is(TRANSCRIPTS, "once_per_without_permission");
}
