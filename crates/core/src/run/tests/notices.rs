//! Stories that a service manager is told.

use super::script::{Script, THEIRS, held, node, other, plan, record, seconds};
use crate::exit::Exit;
use crate::protocol::SessionChange;
use crate::run::Plan;
use crate::signal::SIGTERM;

const TRANSCRIPTS: &str = "notices";

fn of_service() -> Plan {
    Plan { notifies: true, ..plan() }
}

/// The transcript with what matters here.
const WORDS: &[&str] = &["Notify(", "StartCommand", "Reaped", "Finish"];

#[test]
fn a_standby_tells_what_it_waits_for_and_that_it_takes_longer() {
    let said = SessionChange::ServersSay(vec!["zk1:2181: connection refused; a remedy".to_owned()]);
    let mut script = Script::of(of_service()).in_full();
    script.tick().at(0.2).session(said).pass(5.0).connected().at(5.1).created(0, 9).listed(0, &[8], 9);
    script.read(&other(8), node(THEIRS, 8, &record("web2", 30))).pass(8.0);
    script.confirmed(8.0, Ok(())).pass(18.0).session(SessionChange::Disconnected).pass(20.0);
    script.keeps_lines(WORDS).is(TRANSCRIPTS, "standby");
}

#[test]
fn while_the_command_runs_nothing_is_told() {
    let mut script = Script::of(of_service()).in_full();
    script.running().pass(3.5).confirmed(3.5, Ok(())).signal(SIGTERM);
    script.reaped(Exit::Signal(SIGTERM)).pass(6.0).session(SessionChange::Closed);
    script.keeps_lines(WORDS).is(TRANSCRIPTS, "alone");
}

#[test]
fn a_stop_is_told_with_its_reason() {
    let mut script = Script::of(Plan { kill_after: seconds(4.0), ..of_service() });
    script.running().pass(3.0).session(SessionChange::Disconnected).pass(10.0);
    script.pass(11.9).reaped(Exit::Signal(SIGTERM)).keeps_lines(WORDS).is(TRANSCRIPTS, "lost");
}

/// The state is that of the command around it.
#[test]
fn a_zklock_inside_a_command_only_tells_that_it_takes_longer() {
    let outer = vec![held("/locks/o", "/locks/o/n", 5)];
    let mut script = Script::of(Plan { outer, ..of_service() }).in_full();
    script.tick().behind(&[8], "web2").pass(11.0);
    script.keeps_lines(&["Notify("]).is(TRANSCRIPTS, "inside");
}

#[test]
fn without_a_service_manager_nothing_is_told() {
    let mut script = Script::of(plan()).in_full();
    script.running().signal(SIGTERM).reaped(Exit::Signal(SIGTERM)).session(SessionChange::Closed);
    script.keeps_lines(&["Notify("]).is(TRANSCRIPTS, "no_manager");
}
