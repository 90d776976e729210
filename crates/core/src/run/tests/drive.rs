//! The loop around a run.

use std::collections::VecDeque;

use super::script::{OURS, TIMEOUT, plan, record, seconds};
use crate::protocol::{Asker, LockIndex, LockNode, Reply, SessionChange, SessionKey};
use crate::queue::contender::AttemptIds;
use crate::run::{Driver, Effect, Input, Introduction, Plan, Turn};
use crate::signal::SIGTERM;
use crate::time::BootTime;

/// Steps until the next wait: their effects, and when the wait ends.
fn until_wait(driver: &mut Driver, now: BootTime, inputs: Vec<Input>) -> (Vec<Effect>, Option<BootTime>) {
    let (mut inputs, mut observations) = (VecDeque::from(inputs), 0);
    let mut pending = || {
        observations += 1;
        assert!(observations < 1_000, "the loop looks and looks, and never waits");
        inputs.pop_front()
    };
    let mut effects = vec![];
    loop {
        match driver.next(|| now, &mut pending) {
            Turn::Wait(until) => return (effects, until),
            Turn::CarryOut(effect) => {
                if effect == Effect::Introduce {
                    let ids = vec![AttemptIds(1)];
                    driver.answer(Input::Introduced(Introduction { record: record("web1", 7), ids }));
                }
                effects.push(effect);
            }
        }
    }
}

#[test]
fn the_time_is_checked_after_each_input_and_each_wait_and_not_otherwise() {
    let plan = plan();
    let gives_up_at = plan.began + seconds(60.0);
    let mut driver = Driver::begin(plan.clone(), plan.began);
    let (effects, until) = until_wait(&mut driver, plan.began, vec![]);
    assert!(matches!(effects[..], [Effect::Connect { .. }, Effect::Introduce]), "{effects:?}");
    assert!(until.is_some_and(|until| until < gives_up_at));
    assert_eq!(until_wait(&mut driver, gives_up_at, vec![]).0, [], "the wait isn't over");
    driver.woken();
    assert_ne!(until_wait(&mut driver, gives_up_at, vec![]).0, [], "it gives up connecting");

    let mut driver = Driver::begin(plan.clone(), plan.began);
    until_wait(&mut driver, plan.began, vec![]);
    assert_ne!(until_wait(&mut driver, gives_up_at, vec![Input::Child]).0, [], "it gives up connecting");
}

/// A signal that arrives with the timeout takes precedence.
#[test]
fn other_inputs_come_before_the_check_of_the_time() {
    let plan = plan();
    let mut driver = Driver::begin(plan.clone(), plan.began);
    until_wait(&mut driver, plan.began, vec![]);
    driver.woken();
    let (effects, _) = until_wait(&mut driver, plan.began + seconds(60.0), vec![Input::Signal(SIGTERM)]);
    assert!(driver.run().is_leaving());
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Say(..))), "{effects:?}");
}

/// The worker is introduced before it hears of its session, so it enters the queue at once.
#[test]
fn an_answer_comes_before_other_inputs() {
    let plan = plan();
    let connected = SessionChange::Connected { id: OURS, timeout: TIMEOUT, began: plan.began };
    let mut driver = Driver::begin(plan.clone(), plan.began);
    let (effects, _) = until_wait(&mut driver, plan.began, vec![Input::Session(SessionKey(1), connected)]);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Ask(..))), "{effects:?}");
}

#[test]
fn the_start_follows_the_wait_for_the_messages_at_once() {
    let plan = plan();
    let connected = SessionChange::Connected { id: OURS, timeout: TIMEOUT, began: plan.began };
    let mut driver = Driver::begin(plan.clone(), plan.began);
    let (effects, _) = until_wait(&mut driver, plan.began, vec![Input::Session(SessionKey(1), connected)]);
    let created = effects.iter().find_map(|effect| match effect {
        Effect::ReportCreate(path) => Some(format!("{path}0000000001")),
        _ => None,
    });
    let node = LockNode { path: created.unwrap().into(), czxid: 1 };
    let listed = Reply::Listed(Ok(vec![node.path.name().to_owned()]));
    let replies = [Reply::Created(Ok(node)), listed];
    let replies = replies.map(|reply| Input::Reply(SessionKey(1), Asker::Lock(LockIndex(0)), reply));
    let (effects, _) = until_wait(&mut driver, plan.began, replies.into());
    let at = |is: fn(&Effect) -> bool| effects.iter().position(is);
    let flushed = at(|effect| matches!(effect, Effect::FlushOutput(_)));
    let started = at(|effect| matches!(effect, Effect::StartCommand { .. }));
    assert!(flushed.is_some() && flushed < started, "{effects:?}");
}

#[test]
fn a_service_manager_is_told_again_in_time_though_no_input_comes() {
    let plan = Plan { notifies: true, ..plan() };
    let mut driver = Driver::begin(plan.clone(), plan.began);
    let (mut now, mut told_at) = (plan.began, vec![]);
    while told_at.len() < 2 {
        let (effects, until) = until_wait(&mut driver, now, vec![]);
        if effects.iter().any(|effect| matches!(effect, Effect::Notify(_))) {
            told_at.push(now.since(plan.began).as_secs());
        }
        now = until.unwrap();
        driver.woken();
    }
    assert_eq!(told_at, [1, 11]);
}
