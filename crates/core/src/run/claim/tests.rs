use super::*;
use crate::loss::Silence;
use crate::path::LockPath;
use crate::protocol::{LockIndex, LockNode, Node, ReadNode, RequestError};

const T: Duration = Duration::from_secs(30);

fn at(seconds: f64) -> BootTime {
    BootTime::from_nanos(0) + Duration::from_secs_f64(seconds)
}

/// A claim whose session began at zero; its create was sent then, and answered after 0.6 s.
fn claim() -> Claim {
    let mut claim = Claim::default();
    let _ = claim.connect(None);
    claim.introduce(vec![ContenderConfig::exclusive("/locks/job")]);
    let mut out = vec![];
    let connected = SessionChange::Connected { id: 7, timeout: T, began: at(0.0) };
    claim.session_changed(SessionKey(1), connected, at(0.0), &mut out);
    let created = LockNode { path: format!("/locks/job/{}0000000005", prefix_in(&out)).into(), czxid: 50 };
    reply(&mut claim, Asker::Lock(LockIndex(0)), Reply::Created(Ok(created)), 0.6);
    claim
}

fn reply(claim: &mut Claim, asker: Asker, reply: Reply, now: f64) -> Vec<Event> {
    claim.replied(SessionKey(1), asker, reply, at(now), &mut vec![])
}

#[test]
fn a_silence_is_that_of_the_connection_or_of_the_server() {
    let mut claim = claim();
    let silence = |claim: &Claim, now| claim.session().unwrap().silence(at(now));
    assert_eq!(silence(&claim, 10.0), Silence::NoAnswer(Duration::from_secs(10)));
    claim.session_changed(SessionKey(1), SessionChange::Disconnected, at(11.0), &mut vec![]);
    assert_eq!(silence(&claim, 13.0), Silence::NoConnection(Duration::from_secs(2)));
    claim.session_changed(SessionKey(1), SessionChange::Reconnected, at(14.0), &mut vec![]);
    assert_eq!(silence(&claim, 15.0), Silence::NoAnswer(Duration::from_secs(15)));
}

/// The paths below which nodes are created, in order.
fn creates(out: &[Effect]) -> Vec<&str> {
    let creates = out.iter().filter_map(|effect| match effect {
        Effect::Ask(_, Request::Create { path, .. }) => Some(path.split().0),
        _ => None,
    });
    creates.collect()
}

/// A claim for `/a` and `/b` whose session has just begun, and what it does then.
fn claim_for_two() -> (Claim, Vec<Effect>) {
    let mut claim = Claim::default();
    let _ = claim.connect(None);
    claim.introduce(["/b", "/a", "/b"].map(ContenderConfig::exclusive).into());
    let mut out = vec![];
    let connected = SessionChange::Connected { id: 7, timeout: T, began: at(0.0) };
    claim.session_changed(SessionKey(1), connected, at(0.0), &mut out);
    (claim, out)
}

/// The name with which a node is created, up to its number.
fn prefix_in(asked: &[Effect]) -> &str {
    let mut prefixes = asked.iter().filter_map(|effect| match effect {
        Effect::Ask(_, Request::Create { path, .. }) => Some(path.name()),
        _ => None,
    });
    prefixes.next().expect("a create")
}

/// Answers the create and the list of this lock, with this many contenders ahead; what the claim does then.
fn queue(claim: &mut Claim, lock: usize, asked: &[Effect], ahead: usize) -> Vec<Effect> {
    let prefix = prefix_in(asked);
    let names: Vec<_> = (0..=ahead).map(|number| format!("{prefix}{number:010}")).collect();
    let created = LockNode { path: format!("{}/{}", creates(asked)[0], names[ahead]).into(), czxid: 1 };
    let mut out = vec![];
    for reply in [Reply::Created(Ok(created)), Reply::Listed(Ok(names))] {
        let events = claim.replied(SessionKey(1), Asker::Lock(LockIndex(lock)), reply, at(1.0), &mut out);
        assert!(creates(&out).is_empty(), "the phase decides whether zklock wants the next lock");
        if events.iter().any(|event| matches!(event, Event::Held(_))) {
            claim.contend_for_next(at(1.0), &mut out);
        }
    }
    out
}

#[test]
fn each_lock_is_requested_when_the_one_before_it_is_held_and_they_are_released_in_reverse() {
    let (mut claim, out) = claim_for_two();
    assert_eq!(creates(&out), ["/a"]);
    let out = queue(&mut claim, 0, &out, 0);
    assert_eq!(creates(&out), ["/b"]);
    let told = out.iter().position(|effect| matches!(effect, Effect::ReportNodes { .. }));
    let shown = out.iter().position(|effect| matches!(effect, Effect::ReportCreate(_)));
    assert!(told < shown, "the monitor learns of the node before the next create: {out:?}");
    let out = queue(&mut claim, 1, &out, 0);
    assert!(creates(&out).is_empty() && claim.session().unwrap().all_held());
    let Effect::Release(nodes) = claim.release() else { panic!("no release") };
    let parents: Vec<_> = nodes.iter().map(|node| node.as_str().split_at(2).0).collect();
    assert_eq!(parents, ["/b", "/a"]);
}

#[test]
fn no_lock_is_requested_while_zklock_waits_for_the_one_before_it() {
    let (mut claim, out) = claim_for_two();
    assert!(creates(&queue(&mut claim, 0, &out, 1)).is_empty());
}

/// Loses the connection with each create, this long after it was opened, and returns whether that was taken for a server
/// that closes it.
fn fails_after(silence: f64) -> bool {
    let mut claim = Claim::default();
    let _ = claim.connect(None);
    claim.introduce(vec![ContenderConfig::exclusive("/locks/job")]);
    let connected = SessionChange::Connected { id: 7, timeout: T, began: at(0.0) };
    claim.session_changed(SessionKey(1), connected, at(0.0), &mut vec![]);
    let lock = Asker::Lock(LockIndex(0));
    let (mut now, mut events) = (0.0, vec![]);
    reply(&mut claim, lock, Reply::Created(Err(RequestError::NoNode)), now);
    reply(&mut claim, lock, Reply::Listed(Err(RequestError::NoNode)), now);
    for _ in 0..20 {
        now += silence;
        claim.session_changed(SessionKey(1), SessionChange::Disconnected, at(now), &mut vec![]);
        events.extend(reply(&mut claim, lock, Reply::ParentsMade(Err(RequestError::ConnectionLost)), now));
        now += 1.0;
        claim.session_changed(SessionKey(1), SessionChange::Reconnected, at(now), &mut vec![]);
    }
    events.iter().any(|event| matches!(event, Event::Failed(..)))
}

#[test]
fn a_server_that_is_silent_at_each_create_does_not_close_the_connection() {
    assert!(fails_after(0.3));
    assert!(!fails_after(T.as_secs_f64() / 8.0));
}

/// The answer to the first create is lost, and its node is found a minute later.
#[test]
fn a_create_is_measured_from_when_it_was_sent_and_not_from_one_before_it() {
    let (mut claim, out) = claim_for_two();
    let prefix = prefix_in(&out);
    let name = format!("{prefix}0000000000");
    let lost =
        [Reply::Created(Err(RequestError::ConnectionLost)), Reply::Listed(Err(RequestError::ConnectionLost))];
    let own = Node { owner: 7, czxid: 1, ..Node::default() };
    let found = Reply::Read(format!("/a/{name}").into(), Ok(ReadNode::Seen(own)));
    let listed = || Reply::Listed(Ok(vec![name.clone()]));
    for reply in lost.into_iter().chain([listed(), found, listed()]) {
        claim.replied(SessionKey(1), Asker::Lock(LockIndex(0)), reply, at(60.0), &mut vec![]);
    }
    let mut out = vec![];
    claim.contend_for_next(at(60.0), &mut out);
    assert_eq!(creates(&out), ["/b"]);
    let created = LockNode { path: "/b/n".into(), czxid: 2 };
    reply(&mut claim, Asker::Lock(LockIndex(1)), Reply::Created(Ok(created)), 60.5);
    let latency = format!("{:?}", claim.session().unwrap().latency);
    assert!(latency.contains("trip: Some(500ms)"), "{latency}");
}

#[test]
fn only_the_lock_that_is_waited_for_lets_the_next_one_begin() {
    let configs = ["/b", "/a", "/c"].map(ContenderConfig::exclusive).into();
    let mut session = Session::new(7, configs, Lease::new(at(0.0), T), at(0.0));
    for (lock, next) in [(1, 0), (0, 1), (0, 1), (1, 2)] {
        session.acquired(LockIndex(lock), at(1.0));
        assert_eq!(session.first_not_held(), Some(LockIndex(next)));
    }
    session.acquired(LockIndex(2), at(1.0));
    assert_eq!((session.all_held(), session.first_not_held()), (true, None));
    assert_eq!(session.current().map(LockPath::as_str), Some("/c"));
}
