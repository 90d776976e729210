use super::*;
use crate::core::protocol::{Created, LockIndex, ServerTime};

const T: Duration = Duration::from_secs(30);

fn at(seconds: f64) -> BootTime {
    BootTime::from_nanos(0) + Duration::from_secs_f64(seconds)
}

/// A claim whose session began at zero; its create was sent then, and answered after 0.2 s.
fn claim() -> Claim {
    let mut claim = Claim::default();
    let _ = claim.connect(None);
    claim.introduce(vec![ContenderConfig::exclusive("/locks/job")]);
    let mut out = vec![];
    let connected = SessionChange::Connected { id: 7, timeout: T, began: at(0.0) };
    claim.session_changed(SessionKey(1), connected, at(0.0), &mut out);
    let Some(Effect::Ask(_, Request::Create { prefix, .. })) =
        out.iter().find(|effect| matches!(effect, Effect::Ask(_, Request::Create { .. })))
    else {
        panic!("no create in {out:?}");
    };
    let created = Created { name: format!("{prefix}0000000005"), czxid: 50, created: ServerTime(0) };
    reply(&mut claim, Asker::Lock(LockIndex(0)), Reply::Created(Ok(created)), 0.2);
    claim
}

fn reply(claim: &mut Claim, asker: Asker, reply: Reply, now: f64) -> Vec<ClaimEvent> {
    claim.replied(SessionKey(1), asker, reply, at(now), &mut vec![])
}

fn confirmed(claim: &mut Claim, sent: f64, result: Result<(), RequestError>, now: f64) {
    let reply = Reply::Confirmed(at(sent), result);
    claim.replied(SessionKey(1), Asker::Lease, reply, at(now), &mut vec![]);
}

#[test]
fn a_gap_explains_a_silence_until_a_session_timeout_after_it() {
    let mut claim = claim();
    for (change, now) in [(SessionChange::Disconnected, 10.0), (SessionChange::Reconnected, 11.0)] {
        claim.session_changed(SessionKey(1), change, at(now), &mut vec![]);
    }
    assert_eq!(claim.silence(at(40.999)), Some(Silence::LineWasAway(Duration::from_secs(1))));
    assert_eq!(claim.silence(at(41.0)), Some(Silence::SlowLine(Duration::from_millis(200))));
}

#[test]
fn a_forbidden_confirmation_explains_a_silence_until_the_next_good_one() {
    let mut claim = claim();
    let slow = Some(Silence::SlowLine(Duration::from_millis(200)));
    confirmed(&mut claim, 1.0, Err(RequestError::Quota), 1.1);
    assert_eq!(claim.silence(at(2.0)), slow);
    confirmed(&mut claim, 2.0, Err(RequestError::NoAuth), 2.1);
    assert_eq!(claim.silence(at(3.0)), Some(Silence::Forbidden));
    confirmed(&mut claim, 3.0, Err(RequestError::Quota), 3.1);
    assert_eq!(claim.silence(at(4.0)), Some(Silence::Forbidden));
    confirmed(&mut claim, 4.0, Ok(()), 4.1);
    assert_eq!(claim.silence(at(5.0)), slow);
}

#[test]
fn only_the_answer_to_the_create_measures_the_line() {
    let mut claim = claim();
    let listed = Reply::Listed(Ok(vec![]));
    reply(&mut claim, Asker::Lock(LockIndex(0)), listed, 9.0);
    assert_eq!(claim.silence(at(9.1)), Some(Silence::SlowLine(Duration::from_millis(200))));
    let again = Created { name: "lock-0000000006".to_owned(), czxid: 51, created: ServerTime(0) };
    reply(&mut claim, Asker::Lock(LockIndex(0)), Reply::Created(Ok(again)), 9.5);
    assert_eq!(claim.silence(at(9.6)), Some(Silence::SlowLine(Duration::from_millis(200))));
}
