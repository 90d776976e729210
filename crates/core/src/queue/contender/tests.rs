mod answers;

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::protocol::{ReadNode, ServerTime};
use crate::queue::name::{self, Family, Mode};
use crate::queue::record::{self, Record};

const SESSION: i64 = 77;
const NEVER: ServerTime = ServerTime(0);

fn lock() -> LockPath {
    ContenderConfig::exclusive("/locks/job").path
}

fn created(name: &str) -> LockNode {
    LockNode { path: at(name), czxid: 50 }
}

fn contender(nonblock: bool) -> Contender {
    let config =
        ContenderConfig { data: b"me".to_vec(), nonblock, ..ContenderConfig::exclusive("/locks/job") };
    Contender::new(config, SESSION)
}

/// The prefix of the node in a contender's first create.
fn prefix(reaction: &Reaction) -> String {
    match reaction.requests.as_slice() {
        [Request::Create { path, .. }, Request::List(listed)] => {
            assert_eq!((path.split().0, listed.as_str()), ("/locks/job", "/locks/job"));
            path.name().to_owned()
        }
        other => panic!("create and list must be sent together: {other:?}"),
    }
}

fn name(prefix: &str, sequence: i32) -> String {
    format!("{prefix}{sequence:010}")
}

fn other(sequence: i32) -> String {
    name(
        &name::prefix(Family::Curator, Mode::Exclusive, Uuid::from_u128(sequence.unsigned_abs().into())),
        sequence,
    )
}

fn at(name: &str) -> NodePath {
    format!("/locks/job/{name}").into()
}

fn ours(czxid: i64) -> Node {
    Node { data: b"me".to_vec(), owner: SESSION, czxid, version: 0, created: NEVER, modified: NEVER }
}

fn theirs() -> Node {
    Node { data: b"them".to_vec(), owner: SESSION + 1, czxid: 1, version: 0, created: NEVER, modified: NEVER }
}

/// A contender with number 5 behind these nodes, with its own name and the reaction after create and list.
fn behind(ahead: &[i32]) -> (Contender, String, Reaction) {
    let mut contender = contender(false);
    let own = name(&prefix(&contender.begin()), 5);
    assert!(contender.take(Reply::Created(Ok(created(&own)))).requests.is_empty());
    let children = ahead.iter().map(|&n| other(n)).chain([own.clone()]).collect();
    let reaction = contender.take(Reply::Listed(Ok(children)));
    (contender, own, reaction)
}

/// A waiter behind these nodes, with its watches set.
fn asleep(ahead: &[i32]) -> (Contender, String) {
    let (mut contender, own, _) = behind(ahead);
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    let nearest = other(*ahead.last().unwrap());
    let reaction = contender.take(Reply::Read(at(&nearest), Ok(theirs().into())));
    let waiting = Event::Waiting {
        path: lock(),
        predecessor: nearest,
        data: b"them".to_vec(),
        since: NEVER,
        ahead: ahead.len(),
    };
    assert_eq!(reaction.events, [waiting]);
    (contender, own)
}

fn failed(reaction: &Reaction) -> Option<&ContentionError> {
    reaction
        .events
        .iter()
        .find_map(|event| if let Event::Failed(_, error) = event { Some(error) } else { None })
}

#[test]
fn the_first_holds_after_one_flight() {
    let (_, own, reaction) = behind(&[]);
    assert_eq!(reaction.requests, [Request::Watch(at(&own))], "only the watch on its own node");
    assert_eq!(reaction.events.last(), Some(&Event::Held(lock())));
}

#[test]
fn a_waiter_watches_its_own_node_and_the_nearest() {
    let (_, own, reaction) = behind(&[1, 3]);
    assert_eq!(reaction.requests, [Request::Watch(at(&own)), Request::Watch(at(&other(3)))]);
}

#[test]
fn a_waiter_with_only_the_holder_ahead_holds_without_a_second_listing() {
    let (mut contender, _) = asleep(&[3]);
    let reaction = contender.take(Reply::Changed(at(&other(3)), true));
    assert!(reaction.requests.is_empty());
    assert_eq!(reaction.events, [Event::Held(lock())]);
}

#[test]
fn with_several_ahead_the_queue_is_looked_at_again() {
    let list = [Request::List("/locks/job".into())];
    let (mut contender, _) = asleep(&[1, 3]);
    assert_eq!(
        contender.take(Reply::Changed(at(&other(3)), true)).requests,
        list,
        "the predecessor may have left the middle of the queue"
    );
}

#[test]
fn new_data_of_the_predecessor_is_read_and_changes_no_place() {
    for ahead in [&[3][..], &[1, 3]] {
        let (mut contender, _) = asleep(ahead);
        let nearest = at(&other(3));
        let reaction = contender.take(Reply::Changed(nearest.clone(), false));
        assert_eq!((reaction.requests, reaction.events), (vec![Request::Watch(nearest.clone())], vec![]));
        let told = Node { data: b"told".to_vec(), ..theirs() };
        let reaction = contender.take(Reply::Read(nearest.clone(), Ok(told.into())));
        assert!(reaction.requests.is_empty(), "{reaction:?}");
        assert!(
            matches!(&reaction.events[..], [Event::Waiting { data, .. }] if data == b"told"),
            "{reaction:?}"
        );
        let reaction = contender.take(Reply::Changed(nearest, true));
        assert_eq!(
            reaction.events.contains(&Event::Held(lock())),
            ahead.len() == 1,
            "and its end counts as before"
        );
    }
}

#[test]
fn a_predecessor_that_goes_while_its_new_data_is_read_is_noticed() {
    let (mut contender, _) = asleep(&[3]);
    contender.take(Reply::Changed(at(&other(3)), false));
    let reaction = contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoNode)));
    assert_eq!(reaction.requests, [Request::List("/locks/job".into())]);
}

/// A holder whose node has a record.
fn holder_with_record() -> (Contender, String, Record) {
    let data = br#"{"version":1,"host":"h","pid":1,"user":"u","program":"p","mode":"exclusive","slots":1}"#;
    let mut contender = contender(false);
    contender.config.data = data.to_vec();
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    contender.take(Reply::Listed(Ok(vec![own.clone()])));
    contender.take(Reply::Read(at(&own), Ok(Node { data: data.to_vec(), ..ours(50) }.into())));
    (contender, own, Record::from_bytes(data).unwrap())
}

/// What a reaction writes to zklock's node.
fn written(reaction: &Reaction) -> Option<(Record, i32)> {
    match &reaction.requests[..] {
        [Request::Write(_, data, version)] => Some((Record::from_bytes(data).unwrap(), *version)),
        _ => None,
    }
}

#[test]
fn since_when_it_holds_stands_beside_whatever_else_the_node_says() {
    let (mut contender, own, record) = holder_with_record();
    let told = Record { held_after_ms: Some(1_500), ..record };
    let reaction = contender.record_held_since(Duration::from_millis(1_500));
    assert_eq!(written(&reaction), Some((told.clone(), 0)));
    contender.take(Reply::Changed(at(&own), false));
    let reaction = contender
        .take(Reply::Read(at(&own), Ok(Node { data: told.to_bytes(), version: 1, ..ours(50) }.into())));
    assert!(reaction.requests.is_empty(), "it is said: {reaction:?}");
    let stopped = Record { stopped: true, ..told };
    assert_eq!(written(&contender.mark_stopped(true)), Some((stopped, 1)));
}

#[test]
fn a_mark_that_was_written_meanwhile_is_not_overwritten() {
    let (mut contender, own, _) = holder_with_record();
    assert!(written(&contender.record_held_since(Duration::ZERO)).is_some_and(|(_, version)| version == 0));
    assert!(contender.take(Reply::Written(Err(RequestError::Changed))).requests.is_empty());
    contender.take(Reply::Changed(at(&own), false));
    let marked = Node { data: b"__REVOKE__".to_vec(), version: 1, ..ours(50) };
    let reaction = contender.take(Reply::Read(at(&own), Ok(marked.into())));
    assert_eq!((reaction.requests, reaction.events), (vec![], vec![Event::Revoked(lock(), None)]));
}

#[test]
fn a_new_connection_sets_the_watches_again_without_a_listing() {
    let (mut contender, own) = asleep(&[3]);
    let again = [Request::Watch(at(&own)), Request::Watch(at(&other(3)))];
    assert_eq!(contender.reconnected().requests, again);
    assert_eq!(contender.reconnected().requests, [], "they are in flight");
    for lost in [at(&own), at(&other(3))] {
        let reaction = contender.take(Reply::Read(lost.clone(), Err(RequestError::ConnectionLost)));
        assert_eq!(reaction.requests, [Request::Watch(lost)]);
    }
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    let reaction = contender.take(Reply::Read(at(&other(3)), Ok(theirs().into())));
    assert!(matches!(reaction.events[..], [Event::Waiting { ahead: 1, .. }]), "{reaction:?}");
    assert!(contender.take(Reply::Changed(at(&other(3)), true)).events.contains(&Event::Held(lock())));
}

#[test]
fn a_predecessor_that_left_during_a_disconnection_is_noticed() {
    let (mut contender, _) = asleep(&[3]);
    contender.reconnected();
    let reaction = contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoNode)));
    assert_eq!(reaction.requests, [Request::List("/locks/job".into())]);
    let (mut contender, own) = asleep(&[3]);
    contender.reconnected();
    assert_eq!(
        failed(&contender.take(Reply::Read(at(&own), Err(RequestError::NoNode)))),
        Some(&ContentionError::Deleted)
    );
}

#[test]
fn a_waiter_whose_node_is_deleted_never_runs() {
    let (mut contender, own) = asleep(&[3]);
    assert_eq!(failed(&contender.take(Reply::Changed(at(&own), true))), Some(&ContentionError::Deleted));
    let reaction = contender.take(Reply::Changed(at(&other(3)), true));
    assert!(reaction.events.is_empty(), "the predecessor leaves too late");
}

#[test]
fn a_holder_is_told_that_its_node_is_gone() {
    let (mut contender, own, _) = behind(&[]);
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    assert_eq!(contender.take(Reply::Changed(at(&own), false)).requests, [Request::Watch(at(&own))]);
    assert_eq!(
        failed(&contender.take(Reply::Read(at(&own), Err(RequestError::NoNode)))),
        Some(&ContentionError::Deleted)
    );
}

#[test]
fn a_mark_on_its_own_node_revokes_the_lock() {
    let (mut contender, own, _) = behind(&[]);
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    assert_eq!(contender.take(Reply::Changed(at(&own), false)).requests, [Request::Watch(at(&own))]);
    let marked = Node { data: b"__REVOKE__".to_vec(), ..ours(50) };
    assert_eq!(
        contender.take(Reply::Read(at(&own), Ok(marked.into()))).events,
        [Event::Revoked(lock(), None)]
    );
}

#[test]
fn a_contender_missing_from_the_listing_is_gone_and_never_first() {
    let mut contender = contender(false);
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    assert_eq!(failed(&contender.take(Reply::Listed(Ok(vec![])))), Some(&ContentionError::Deleted));
}

#[test]
fn a_node_deleted_between_list_and_watch_causes_another_listing() {
    let (mut contender, _, _) = behind(&[3]);
    let reaction = contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoNode)));
    assert_eq!(reaction.requests, [Request::List("/locks/job".into())]);
}

#[test]
fn missing_parents_are_created_and_a_new_attempt_has_a_new_name() {
    let mut contender = contender(false);
    let first = prefix(&contender.begin());
    contender.take(Reply::Created(Err(RequestError::NoNode)));
    let reaction = contender.take(Reply::Listed(Err(RequestError::NoNode)));
    assert_eq!(reaction.requests, [Request::MakeParents("/locks/job".into())]);
    assert_ne!(prefix(&contender.take(Reply::ParentsMade(Ok(())))), first);
}

#[test]
fn parents_that_keep_vanishing_are_an_error() {
    let mut contender = contender(false);
    contender.begin();
    for _ in 0..MOST_PARENTS {
        contender.take(Reply::Created(Err(RequestError::NoNode)));
        contender.take(Reply::Listed(Err(RequestError::NoNode)));
        let reaction = contender.take(Reply::ParentsMade(Ok(())));
        if let Some(error) = failed(&reaction) {
            assert_eq!(error, &ContentionError::ParentsVanish);
            return;
        }
    }
    panic!("the contender never gave up");
}

#[test]
fn a_create_that_is_never_answered_is_an_error() {
    let closed = |action| Some(ContentionError::Closed(action));
    let lost = RequestError::ConnectionLost;
    let (mut node, mut parents) = (contender(false), contender(false));
    node.begin();
    parents.begin();
    parents.take(Reply::Created(Err(RequestError::NoNode)));
    parents.take(Reply::Listed(Err(RequestError::NoNode)));
    for number in 1..=MOST_LOST_CREATES {
        let is_last = number == MOST_LOST_CREATES;
        let reaction = parents.take(Reply::ParentsMade(Err(lost.clone())));
        assert_eq!(failed(&reaction).cloned(), closed("create the lock path").filter(|_| is_last));
        node.take(Reply::Created(Err(lost.clone())));
        let reaction = node.take(Reply::Listed(Err(lost.clone())));
        assert_eq!(failed(&reaction).cloned(), closed("create its lock node").filter(|_| is_last));
        node.take(Reply::Listed(Ok(vec![])));
    }
}

/// The reply to the create is lost; ends with the request for the listing that follows.
fn searching() -> (Contender, String) {
    let mut contender = contender(false);
    let prefix = prefix(&contender.begin());
    contender.take(Reply::Created(Err(RequestError::ConnectionLost)));
    let reaction = contender.take(Reply::Listed(Err(RequestError::ConnectionLost)));
    assert_eq!(
        reaction.requests,
        [Request::CatchUpAndList("/locks/job".into())],
        "the server may lag: sync first"
    );
    (contender, prefix)
}

/// The listing has a node that may be its own, with this name; ends with the request for that node. The last is the prefix.
fn adopting() -> (Contender, String, String) {
    let (mut contender, prefix) = searching();
    let own = name(&prefix, 5);
    contender.take(Reply::Listed(Ok(vec![own.clone()])));
    (contender, own, prefix)
}

#[test]
fn a_node_whose_reply_was_lost_is_adopted_if_this_session_owns_it() {
    let (mut contender, prefix) = searching();
    let own = name(&prefix, 5);
    let reaction = contender.take(Reply::Listed(Ok(vec![other(3), own.clone()])));
    assert_eq!(reaction.requests, [Request::Watch(at(&own))]);
    let reaction = contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    assert_eq!(reaction.events, [Event::Queued(lock(), LockNode { path: at(&own), czxid: 50 })]);
    assert_eq!(reaction.requests, [Request::List("/locks/job".into())]);
    let reaction = contender.take(Reply::Listed(Ok(vec![own])));
    assert_eq!(reaction.events, [Event::Held(lock())]);
    assert!(reaction.requests.is_empty(), "its node is already watched");
}

#[test]
fn a_node_that_was_written_to_before_it_was_adopted_is_known_as_it_is() {
    let (mut contender, own, _) = adopting();
    let asked = Node { data: record::CURATOR_REVOKES.to_vec(), version: 3, ..ours(50) };
    let reaction = contender.take(Reply::Read(at(&own), Ok(asked.into())));
    assert!(matches!(reaction.events[..], [Event::Queued(..), Event::Revoked(..)]), "{reaction:?}");

    let (mut contender, own, _) = adopting();
    contender.take(Reply::Read(at(&own), Ok(Node { version: 3, ..ours(50) }.into())));
    let [Request::Write(_, _, version)] = &contender.mark_stopped(true).requests[..] else {
        panic!("a write")
    };
    assert_eq!(*version, 3);
}

#[test]
fn the_node_of_an_earlier_session_is_not_adopted() {
    let (mut contender, prefix_of_lost) = searching();
    let stale = name(&prefix_of_lost, 5);
    contender.take(Reply::Listed(Ok(vec![stale.clone()])));
    let reaction = contender.take(Reply::Read(at(&stale), Ok(theirs().into())));
    assert_ne!(prefix(&reaction), prefix_of_lost);
}

#[test]
fn a_create_that_never_arrived_is_sent_again() {
    let (mut contender, lost) = searching();
    assert_ne!(prefix(&contender.take(Reply::Listed(Ok(vec![other(3)])))), lost);
}

#[test]
fn a_listing_whose_reply_was_lost_is_requested_again() {
    let mut contender = contender(false);
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    let reaction = contender.take(Reply::Listed(Err(RequestError::ConnectionLost)));
    assert_eq!(reaction.requests, [Request::CatchUpAndList("/locks/job".into())]);
    assert_eq!(contender.take(Reply::Listed(Ok(vec![own]))).events, [Event::Held(lock())]);
}

#[test]
fn a_listing_that_overtook_its_create_is_ignored() {
    let mut contender = contender(false);
    let own = name(&prefix(&contender.begin()), 5);
    let reaction = contender.take(Reply::Listed(Ok(vec![other(3)])));
    assert_eq!(reaction.requests, [Request::CatchUpAndList("/locks/job".into())]);
    contender.take(Reply::Created(Ok(created(&own))));
    assert_eq!(contender.take(Reply::Listed(Ok(vec![own]))).events.last(), Some(&Event::Held(lock())));
}

#[test]
fn a_node_of_the_same_session_ahead_is_deleted() {
    let (mut contender, _, _) = behind(&[3]);
    let reaction = contender.take(Reply::Read(at(&other(3)), Ok(ours(1).into())));
    assert_eq!(reaction.requests, [Request::Delete(at(&other(3)))], "otherwise zklock would wait for itself");
    let reaction = contender.take(Reply::Deleted(Ok(())));
    assert_eq!(reaction.requests, [Request::List("/locks/job".into())]);
}

#[test]
fn nonblock_reads_the_holder_of_a_busy_lock_and_creates_nothing() {
    let mut contender = contender(true);
    assert_eq!(contender.begin().requests, [Request::List("/locks/job".into())]);
    let reaction = contender.take(Reply::Listed(Ok(vec![other(4), other(3)])));
    assert_eq!(reaction.requests, [Request::Watch(at(&other(3)))], "only to report the holder");
    let reaction = contender.take(Reply::Read(at(&other(3)), Ok(theirs().into())));
    assert_eq!(
        reaction.events,
        [Event::Busy { path: lock(), holder: other(3), data: b"them".to_vec(), since: NEVER }]
    );
    assert!(contender.own().is_none());
}

#[test]
fn nonblock_acquires_a_free_lock_and_a_lost_race_is_busy() {
    for free in [Ok(vec![]), Err(RequestError::NoNode)] {
        let mut contender = contender(true);
        contender.begin();
        let own = name(&prefix(&contender.take(Reply::Listed(free))), 5);
        contender.take(Reply::Created(Ok(created(&own))));
        contender.take(Reply::Listed(Ok(vec![own, other(3)])));
        let reaction = contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoNode)));
        assert!(matches!(reaction.events.as_slice(), [Event::Busy { .. }]));
        assert!(contender.own().is_some(), "the release needs it to delete the node");
    }
}

#[test]
fn a_refused_request_names_the_missing_permission() {
    for (failure, error) in [
        (
            RequestError::NoAuth,
            ContentionError::Permission {
                action: "queue",
                permission: "CREATE",
                node: "/locks/job".to_owned(),
            },
        ),
        (RequestError::EphemeralParent, ContentionError::EphemeralParent),
        (RequestError::Quota, ContentionError::Server(RequestError::Quota)),
        (RequestError::ReadOnly, ContentionError::Server(RequestError::ReadOnly)),
    ] {
        let mut contender = contender(false);
        contender.begin();
        contender.take(Reply::Created(Err(failure)));
        assert_eq!(failed(&contender.take(Reply::Listed(Ok(vec![])))), Some(&error));
    }
    let mut contender = contender(false);
    contender.begin();
    contender.take(Reply::Created(Err(RequestError::NoNode)));
    contender.take(Reply::Listed(Err(RequestError::NoNode)));
    assert_eq!(
        failed(&contender.take(Reply::ParentsMade(Err(RequestError::NoNode)))),
        Some(&ContentionError::NoChroot(String::new()))
    );
}
