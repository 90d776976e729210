//! Stories of the end: a start that fails, the record of a success, the release.

use super::script::{Script, plan, seconds};
use crate::exit::Exit;
use crate::protocol::{Asker, Reply, RequestError, SessionChange};
use crate::run::{Input, Plan};
use crate::signal::SIGINT;

const TRANSCRIPTS: &str = "ends";

#[test]
fn a_command_that_can_not_start_releases_the_lock() {
    let mut script = Script::of(plan());
    script.first().tick();
    script
        .on(Input::Started(Err((
            127,
            "'x' was not found: check its name, and the directories in the variable PATH".to_owned(),
        ))))
        .session(SessionChange::Closed)
        .is(TRANSCRIPTS, "not_started");
}

#[test]
fn an_unconfirmed_release_continues_after_the_exit() {
    let ended = || {
        let mut script = Script::of(plan());
        script.running().at(1.0).reaped(Exit::Code(4));
        script
    };
    ended().signal(SIGINT).on(Input::MonitorDied).at(6.0).tick().is(TRANSCRIPTS, "release_unconfirmed");
    ended()
        .session(SessionChange::Lost(RequestError::Expired))
        .on(Input::Cleaned(true))
        .is(TRANSCRIPTS, "release_expired");
    ended()
        .session(SessionChange::Lost(RequestError::GivenUp))
        .at(6.0)
        .tick()
        .is(TRANSCRIPTS, "release_given_up");
    ended()
        .session(SessionChange::Disconnected)
        .session(SessionChange::Reconnected)
        .is(TRANSCRIPTS, "release_interrupted");
}

#[test]
fn a_node_that_is_created_while_zklock_leaves_is_known_too() {
    let mut script = Script::of(plan());
    script.connected().at(0.1).signal(SIGINT).at(0.2).created(0, 9).listed(0, &[8], 9);
    script.on(Input::Cleaned(true)).on(Input::Cleaned(false));
    script.session(SessionChange::Lost(RequestError::Expired)).is(TRANSCRIPTS, "created_while_leaving");
}

fn once(exit: Exit) -> Script {
    let mut script = Script::of(Plan { once_per: Some(seconds(60.0)), ..plan() });
    script.holds().tick().once(Err(RequestError::NoNode)).tick();
    script.tick().at(0.2).on(Input::Started(Ok(()))).tick().at(1.0).begun().reaped(exit);
    script
}

#[test]
fn a_success_is_recorded_with_the_release() {
    let concluded = |result| Reply::SuccessRecorded(result);
    once(Exit::Code(0))
        .reply(Asker::Once, concluded(Ok(())))
        .session(SessionChange::Closed)
        .is(TRANSCRIPTS, "recorded");
    once(Exit::Code(0)).at(2.0).tick().reply(Asker::Once, concluded(Ok(()))).is(TRANSCRIPTS, "recorded_late");
    once(Exit::Code(3)).session(SessionChange::Closed).is(TRANSCRIPTS, "failure_not_recorded");
    once(Exit::Code(0))
        .reply(Asker::Once, concluded(Err(RequestError::NoAuth)))
        .is(TRANSCRIPTS, "record_refused");
    once(Exit::Code(0))
        .reply(Asker::Once, concluded(Err(RequestError::NoNode)))
        .is(TRANSCRIPTS, "record_without_a_node");
    once(Exit::Code(0)).on(Input::MonitorDied).at(6.0).tick().is(TRANSCRIPTS, "record_unconfirmed");
    once(Exit::Code(0)).session(SessionChange::Lost(RequestError::Expired)).is(TRANSCRIPTS, "record_expired");
}

#[test]
fn a_record_whose_answer_was_lost_is_tried_again() {
    let answer = |script: &mut Script, result| {
        script.reply(Asker::Once, Reply::SuccessRecorded(result));
    };
    for (result, name) in [(Ok(()), "record_again"), (Err(RequestError::NoNode), "record_uncertain")] {
        let mut script = once(Exit::Code(0));
        answer(&mut script, Err(RequestError::ConnectionLost));
        answer(&mut script, result);
        script.is(TRANSCRIPTS, name);
    }
}
