//! Stories that a service manager is told.

use super::script::{OURS, Script, THEIRS, held, lock, node, other, plan, record, seconds};
use crate::exit::Exit;
use crate::protocol::{Asker, LockIndex, Reply, RequestError, SessionChange};
use crate::queue::record::Record;
use crate::run::{Effect, Input, LeaderChange, LookUp, Plan};
use crate::signal::{SIGKILL, SIGTERM, SIGTSTP};

const TRANSCRIPTS: &str = "notices";

fn of_service() -> Plan {
    Plan { notifies: true, ..plan() }
}

/// The transcript with what matters here.
const WORDS: &[&str] = &["Notify(", "StartCommand", "WaitingLine", "Reaped", "Finish"];

#[test]
fn a_standby_tells_what_it_waits_for_and_that_it_takes_longer() {
    let said = SessionChange::ServersSay(vec!["zk1:2181: connection refused; a remedy".to_owned()]);
    let mut script = Script::of(of_service()).in_full();
    script.tick().at(0.2).session(said).pass(5.0).connected().at(5.1).created(0, 9).listed(0, &[8], 9);
    let holder = Record { held_after_ms: Some(50), ..record("web2", 30) };
    script.read(&other(8), node(THEIRS, 8, &holder)).on(Input::Ancestors(vec![])).pass(8.0);
    script.confirmed(8.0, Ok(())).pass(18.0).session(SessionChange::Disconnected).pass(20.0);
    script.keeps_lines(WORDS).is(TRANSCRIPTS, "standby");
}

#[test]
fn the_holder_is_read_again_for_the_status() {
    let mut script = Script::of(of_service());
    script.behind(&[3, 8], "web2").on(Input::Ancestors(vec![])).tick();
    let holder = Record { held_after_ms: Some(500), ..record("web3", 31) };
    let path = format!("/locks/a/{}", other(3));
    let read = Ok(node(THEIRS, 3, &holder).into());
    script.reply(Asker::WaitingLine, Reply::Read(path.as_str().into(), read)).tick();
    for second in 1..63 {
        script.at(f64::from(second)).confirmed(f64::from(second), Ok(())).tick();
    }
    script.reply(Asker::WaitingLine, Reply::Read(path.into(), Err(RequestError::NoNode)));
    let left = vec![other(8), script.own(9)];
    script.reply(Asker::WaitingLine, Reply::Listed(Ok(left))).tick();
    script.keeps_lines(&["since", "web", "WaitingLine"]).is(TRANSCRIPTS, "another_holder");
}

#[test]
fn while_the_command_runs_only_a_signal_that_ends_it_is_told() {
    let mut script = Script::of(of_service()).in_full();
    script.running().pass(3.5).confirmed(3.5, Ok(())).signal(SIGTERM);
    script.reaped(Exit::Signal(SIGTERM)).tick().session(SessionChange::Closed);
    script.keeps_lines(WORDS).is(TRANSCRIPTS, "alone");
}

#[test]
fn each_lock_is_told_with_its_token() {
    let mut script = Script::of(Plan { locks: vec![lock("/locks/a"), lock("/locks/b")], ..of_service() });
    script.connected().at(0.1).created(0, 1).listed(0, &[], 1);
    let own = script.own(1);
    script.read(&own, node(OURS, 1, &record("web1", 7))).created(1, 2);
    let own = script.own(2);
    script.listed(1, &[], 2).reply(
        Asker::Lock(LockIndex(1)),
        Reply::Read(format!("/locks/b/{own}").into(), Ok(node(OURS, 2, &record("web1", 7)).into())),
    );
    script.tick().on(Input::OutputFlushed).tick();
    script.keeps_lines(&["runs under", "StartCommand"]).is(TRANSCRIPTS, "two_locks");
}

#[test]
fn a_stop_is_told_with_its_reason_until_it_is_over() {
    let mut script = Script::of(Plan { kill_after: seconds(4.0), ..of_service() });
    script.running().pass(3.0).session(SessionChange::Disconnected).pass(10.0);
    script.pass(11.9).reaped(Exit::Signal(SIGTERM)).keeps_lines(WORDS).is(TRANSCRIPTS, "lost");

    let mut script = Script::of(of_service());
    script.running().on(Input::Children {
        leader: Some(LeaderChange::Died { by: Some(SIGKILL) }),
        group: None,
        none_left: false,
    });
    script.keeps_lines(WORDS).is(TRANSCRIPTS, "killed");
}

#[test]
fn a_stopped_waiter_tells_that_it_has_left() {
    let mut script = Script::of(of_service());
    script.behind(&[8], "web2").on(Input::Ancestors(vec![])).tick().signal(SIGTSTP).pass(1.0);
    script.reply(
        Asker::Lock(LockIndex(0)),
        Reply::Changed(format!("/locks/a/{}", other(8)).as_str().into(), true),
    );
    script.listed(0, &[], 9);
    let own = script.own(9);
    script.read(&own, node(OURS, 9, &record("web1", 7))).tick().pass(2.0);
    script.keeps_lines(&["Notify("]).is(TRANSCRIPTS, "left_while_stopped");
}

#[test]
fn a_waiter_tells_that_it_leaves() {
    let mut script = Script::of(of_service());
    script.behind(&[8], "web2").on(Input::Ancestors(vec![])).tick().signal(SIGTERM).pass(0.5);
    script.keeps_lines(WORDS).is(TRANSCRIPTS, "leaves");
}

/// The state is that of the command around it.
#[test]
fn a_zklock_inside_a_command_only_tells_that_it_takes_longer() {
    let outer = vec![held("/locks/o", "/locks/o/n", 5)];
    let mut script = Script::of(Plan { outer, ..of_service() }).in_full();
    script.tick().behind(&[8], "web2").on(Input::Ancestors(vec![])).pass(11.0);
    script.keeps_lines(&["Notify("]).is(TRANSCRIPTS, "inside");

    let outer = vec![held("/locks/a", "/locks/a/n", 5)];
    let mut script = Script::of(Plan { outer, ..of_service() }).in_full();
    let is_notice = |effect: &Effect| matches!(effect, Effect::Notify(notice) if notice.status.is_some());
    let seen = Input::LookedUp(LookUp::Seen(vec![None]));
    assert!(!script.effects(Input::Tick).iter().chain(&script.effects(seen)).any(is_notice));
}

#[test]
fn without_a_service_manager_nothing_is_told() {
    let mut script = Script::of(plan()).in_full();
    script.running().signal(SIGTERM).reaped(Exit::Signal(SIGTERM)).session(SessionChange::Closed);
    script.keeps_lines(&["Notify("]).is(TRANSCRIPTS, "no_manager");
}
