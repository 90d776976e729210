//! Answers that are refused, lost, or about another client's nodes.

use super::*;
use crate::queue::queue_error::QueueError;

const PATH: &str = "/locks/job";
const LATCH: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-latch-0000000002";

fn permission(action: &'static str, permission: &'static str) -> ContentionError {
    ContentionError::Permission { action, permission, node: PATH.to_owned() }
}

fn list() -> Vec<Request> {
    vec![Request::List(PATH.into())]
}

fn list_after_a_gap() -> Vec<Request> {
    vec![Request::CatchUpAndList(PATH.into())]
}

/// Lists again after its predecessor has gone.
fn listing() -> (Contender, String) {
    let (mut contender, own) = asleep(&[1, 3]);
    contender.take(Reply::Changed(at(&other(3)), true));
    (contender, own)
}

fn looking() -> Contender {
    let mut contender = contender(true);
    contender.begin();
    contender
}

fn slots() -> Contender {
    let mut contender = contender(false);
    contender.config.mode = Mode::Slots(2);
    contender.config.data_with_slot = b"slot".to_vec();
    contender
}

#[test]
fn a_listing_that_fails_is_repeated_or_says_what_is_missing() {
    let denied = permission("see the queue", "READ");
    let phases = || [listing().0, searching().0, looking()];
    for mut contender in phases() {
        let reaction = contender.take(Reply::Listed(Err(RequestError::ConnectionLost)));
        assert_eq!(reaction.requests, list_after_a_gap());
    }
    for mut contender in phases() {
        assert_eq!(failed(&contender.take(Reply::Listed(Err(RequestError::NoAuth)))), Some(&denied));
    }
    let lost_its_path = listing().0.take(Reply::Listed(Err(RequestError::NoNode)));
    assert_eq!(failed(&lost_its_path), Some(&ContentionError::Deleted));
    let (mut contender, lost) = searching();
    assert_ne!(prefix(&contender.take(Reply::Listed(Err(RequestError::NoNode)))), lost);
    let mut entering = super::contender(false);
    let own = name(&prefix(&entering.begin()), 5);
    entering.take(Reply::Created(Ok(created(&own))));
    assert_eq!(failed(&entering.take(Reply::Listed(Err(RequestError::NoAuth)))), Some(&denied));
}

#[test]
fn answers_of_a_session_that_is_over_change_nothing() {
    for failure in [RequestError::Expired, RequestError::AuthFailed] {
        for reply in [
            Reply::Created(Err(failure.clone())),
            Reply::Listed(Err(failure.clone())),
            Reply::Read(at(&other(3)), Err(failure.clone())),
            Reply::ParentsMade(Err(failure.clone())),
        ] {
            for mut contender in [listing().0, behind(&[3]).0] {
                assert_eq!(contender.take(reply.clone()), Reaction::default());
            }
        }
    }
}

#[test]
fn the_parents_are_made_again_if_the_answer_was_lost() {
    let missing = || {
        let mut contender = contender(false);
        contender.begin();
        contender.take(Reply::Created(Err(RequestError::NoNode)));
        contender.take(Reply::Listed(Err(RequestError::NoNode)));
        contender
    };
    let reaction = missing().take(Reply::ParentsMade(Err(RequestError::ConnectionLost)));
    assert_eq!(reaction.requests, [Request::MakeParents(PATH.into())]);
    let reaction = missing().take(Reply::ParentsMade(Err(RequestError::NoAuth)));
    assert_eq!(failed(&reaction), Some(&permission("make the lock path", "CREATE")));
}

#[test]
fn a_node_that_may_be_its_own_is_asked_for_until_it_is_known() {
    let (mut contender, own, _) = adopting();
    let reaction = contender.take(Reply::Read(at(&own), Err(RequestError::ConnectionLost)));
    assert_eq!(reaction.requests, list_after_a_gap());
    let (mut contender, own, lost) = adopting();
    assert_ne!(prefix(&contender.take(Reply::Read(at(&own), Err(RequestError::NoNode)))), lost);
    let (mut contender, own, _) = adopting();
    let hidden = contender.take(Reply::Read(at(&own), Ok(ReadNode::Hidden)));
    assert_eq!(failed(&hidden), Some(&ContentionError::OwnNodeHidden));
    let (mut contender, own, _) = adopting();
    let denied = contender.take(Reply::Read(at(&own), Err(RequestError::NoAuth)));
    assert_eq!(failed(&denied), Some(&permission("read its own node", "READ")));
    let (mut contender, _, _) = adopting();
    assert_eq!(
        contender.take(Reply::Read(at(&other(7)), Ok(ours(50).into()))),
        Reaction::default(),
        "another node"
    );
}

#[test]
fn its_own_node_has_to_be_readable_and_its_own() {
    let held = || behind(&[]);
    for (read, error) in [
        (Ok(ReadNode::Hidden), ContentionError::OwnNodeHidden),
        (Ok(Node { owner: SESSION + 1, ..ours(50) }.into()), ContentionError::Deleted),
        (Ok(ours(51).into()), ContentionError::Deleted),
        (Err(RequestError::NoAuth), permission("read its own node", "READ")),
    ] {
        let (mut contender, own, _) = held();
        assert_eq!(failed(&contender.take(Reply::Read(at(&own), read))), Some(&error));
    }
    let (mut contender, own, _) = held();
    let reaction = contender.take(Reply::Read(at(&own), Err(RequestError::ConnectionLost)));
    assert_eq!(reaction.requests, [Request::Watch(at(&own))]);
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    assert!(!contender.is_unread());
    contender.take(Reply::Changed(at(&own), false));
    assert!(contender.is_unread());
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    assert!(!contender.is_unread());
}

#[test]
fn a_node_ahead_that_can_not_be_read_is_an_error() {
    let denied = permission("watch the contender ahead", "READ");
    let (mut contender, _, _) = behind(&[3]);
    let reaction = contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoAuth)));
    assert_eq!(failed(&reaction), Some(&denied));
    let (mut contender, _) = asleep(&[3]);
    contender.take(Reply::Changed(at(&other(3)), false));
    let reaction = contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoAuth)));
    assert_eq!(failed(&reaction), Some(&denied));
}

#[test]
fn a_contender_knows_whether_another_was_ahead() {
    let (contender, _, _) = behind(&[]);
    assert!(!contender.seen_busy());
    let (contender, _, _) = behind(&[3]);
    assert!(contender.seen_busy());
    let mut contender = looking();
    contender.take(Reply::Listed(Ok(vec![other(3)])));
    assert!(contender.seen_busy());
}

#[test]
fn a_predecessor_that_goes_before_it_is_watched_causes_another_listing() {
    let (mut contender, _, _) = behind(&[1, 3]);
    assert_eq!(contender.take(Reply::Changed(at(&other(1)), true)), Reaction::default(), "it isn't watched");
    assert_eq!(contender.take(Reply::Changed(at(&other(3)), true)).requests, list());
}

#[test]
fn watches_that_were_being_set_are_set_again_on_a_new_connection() {
    // The first waiter for a slot watches all holders.
    let mut contender = slots();
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    let watches = contender.take(Reply::Listed(Ok(vec![slot(1), slot(3), own.clone()]))).requests;
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    let [_, Request::Watch(first), Request::Watch(_)] = &watches[..] else { panic!("{watches:?}") };
    contender.take(Reply::Read(first.clone(), Ok(theirs().into())));
    let again = [Request::Watch(at(&own)), Request::Watch(first.clone())];
    assert_eq!(contender.reconnected().requests, again, "the other is in flight");
}

#[test]
fn only_the_delete_that_was_waited_for_causes_a_listing() {
    let (mut contender, _) = asleep(&[3]);
    assert_eq!(contender.take(Reply::Deleted(Ok(()))), Reaction::default());
}

#[test]
fn a_write_whose_answer_was_lost_is_sent_again() {
    let (mut contender, own, _) = holder_with_record();
    contender.mark_stopped(true);
    let reaction = contender.take(Reply::Written(Err(RequestError::ConnectionLost)));
    assert!(
        written(&reaction).is_some_and(|(record, version)| record.stopped && version == 0),
        "{reaction:?}"
    );
    assert_eq!(contender.take(Reply::Written(Ok(NEVER))), Reaction::default());
    contender.take(Reply::Changed(at(&own), false));
    let other = Node { data: b"other".to_vec(), version: 3, ..ours(50) };
    let reaction = contender.take(Reply::Read(at(&own), Ok(other.into())));
    assert!(
        written(&reaction).is_some_and(|(_, version)| version == 3),
        "what it says is written again: {reaction:?}"
    );
}

#[test]
fn a_slot_is_announced_where_another_waits_behind() {
    for (behind, tells) in [(vec![slot(9)], true), (vec![], false)] {
        let mut contender = slots();
        let own = name(&prefix(&contender.begin()), 5);
        contender.take(Reply::Created(Ok(created(&own))));
        let children = behind.into_iter().chain([own.clone()]).collect();
        let reaction = contender.take(Reply::Listed(Ok(children)));
        let write = Request::Write(at(&own), b"slot".to_vec(), 0);
        assert_eq!(reaction.requests.contains(&write), tells, "{reaction:?}");
        assert!(reaction.events.contains(&Event::Held(lock())));
        assert_eq!(contender.record_held_since(Duration::ZERO).requests.len(), 1);
    }
    let mut contender = contender(false);
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    let reaction = contender.take(Reply::Listed(Ok(vec![own.clone(), other(9)])));
    assert_eq!(reaction.requests, [Request::Watch(at(&own))], "a lock has no slots to tell of");
}

#[test]
fn a_node_that_no_session_owns_is_refused_and_a_hidden_one_waited_for() {
    for owner in [0, i64::MIN] {
        let permanent = || Ok(Node { owner, ..theirs() }.into());
        let error = ContentionError::NotEphemeral(at(&other(3)).to_string());
        let mut approaching = behind(&[3]).0;
        assert_eq!(failed(&approaching.take(Reply::Read(at(&other(3)), permanent()))), Some(&error));
        // With nonblock, zklock's own number decides.
        for (number, error) in [(5, Some(&error)), (2, None)] {
            let mut naming = looking();
            naming.take(Reply::Listed(Ok(vec![other(3)])));
            let entering = naming.take(Reply::Read(at(&other(3)), permanent()));
            assert!(!naming.seen_busy());
            let own = name(&prefix(&entering), number);
            naming.take(Reply::Created(Ok(created(&own))));
            naming.take(Reply::Listed(Ok(vec![own, other(3)])));
            let reaction = naming.take(Reply::Read(at(&other(3)), permanent()));
            let holds = matches!(naming.phase, Phase::Holding);
            assert_eq!((failed(&reaction), holds), (error, error.is_none()));
        }
    }
    let mut approaching = behind(&[3]).0;
    let reaction = approaching.take(Reply::Read(at(&other(3)), Ok(ReadNode::Hidden)));
    assert!(matches!(reaction.events[..], [Event::Waiting { .. }]));
    let mut naming = looking();
    naming.take(Reply::Listed(Ok(vec![other(3)])));
    let reaction = naming.take(Reply::Read(at(&other(3)), Ok(ReadNode::Hidden)));
    assert!(matches!(reaction.events[..], [Event::Busy { .. }]));
}

#[test]
fn with_nonblock_another_kind_is_refused_unless_no_session_owns_it() {
    let semaphore = "slots3-lock-0000000003".to_owned();
    let look = |read| {
        let mut looking = looking();
        let reaction = looking.take(Reply::Listed(Ok(vec![semaphore.clone()])));
        assert_eq!(reaction.requests, [Request::Watch(at(&semaphore))]);
        looking.take(Reply::Read(at(&semaphore), read))
    };
    for read in [Ok(theirs().into()), Ok(ReadNode::Hidden), Err(RequestError::ConnectionLost)] {
        let reaction = look(read);
        let is_refused =
            |error: &ContentionError| matches!(error, ContentionError::Refused(QueueError::OtherKind { .. }));
        assert!(failed(&reaction).is_some_and(is_refused), "{reaction:?}");
    }
    let reaction = look(Ok(Node { owner: 0, ..theirs() }.into()));
    assert!(matches!(reaction.requests[..], [Request::Create { .. }, Request::List(_)]), "{reaction:?}");
}

#[test]
fn a_late_answer_about_an_earlier_predecessor_changes_nothing() {
    let (mut contender, _) = asleep(&[1, 3]);
    assert_eq!(contender.take(Reply::Read(at(&other(1)), Err(RequestError::NoNode))), Reaction::default());
}

#[test]
fn a_node_of_another_recipe_is_refused() {
    for child in [LATCH, "leases", "locks"] {
        let refused = QueueError::OtherRecipe(child.to_owned());
        for is_nonblock in [false, true] {
            let mut contender = contender(is_nonblock);
            let begun = contender.begin();
            let mut children = vec![child.to_owned()];
            if !is_nonblock {
                let own = name(&prefix(&begun), 5);
                contender.take(Reply::Created(Ok(created(&own))));
                children.push(own);
            }
            let reaction = contender.take(Reply::Listed(Ok(children)));
            assert_eq!(failed(&reaction), Some(&refused.clone().into()));
        }
        let (mut contender, own) = asleep(&[3]);
        contender.take(Reply::Read(at(&other(3)), Err(RequestError::NoNode)));
        let reaction = contender.take(Reply::Listed(Ok(vec![child.to_owned(), own])));
        assert_eq!(failed(&reaction), Some(&refused.into()), "it came while this one waited");
    }
}

#[test]
fn news_about_nodes_that_are_not_watched_change_nothing() {
    let foreign = || Reply::Read(at(&other(2)), Ok(ours(50).into()));
    let (mut contender, _, _) = behind(&[1, 3]);
    assert_eq!(contender.take(foreign()), Reaction::default(), "while the watches are set");
    let (mut contender, _) = asleep(&[1, 3]);
    assert_eq!(contender.take(foreign()), Reaction::default(), "while it waits");
    assert_eq!(contender.take(Reply::Changed(at(&other(1)), true)), Reaction::default());
    assert_eq!(contender.take(Reply::Changed(at(&other(1)), false)), Reaction::default());
    let elsewhere = || format!("/elsewhere/{}", other(3)).into();
    assert_eq!(contender.take(Reply::Changed(elsewhere(), true)), Reaction::default(), "of the same name");
    assert_eq!(contender.take(Reply::Read(elsewhere(), Err(RequestError::NoNode))), Reaction::default());
    let mut contender = looking();
    contender.take(Reply::Listed(Ok(vec![other(3)])));
    assert_eq!(contender.take(foreign()), Reaction::default(), "while the holder is read");
}

/// A waiter for one of two slots, with number 5 behind these, and the reaction after create and list.
fn behind_slots(ahead: &[i32]) -> (Contender, String, Reaction) {
    let mut contender = slots();
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    let children = ahead.iter().map(|&number| slot(number)).chain([own.clone()]).collect();
    let reaction = contender.take(Reply::Listed(Ok(children)));
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    (contender, own, reaction)
}

fn slot(number: i32) -> String {
    other(number).replace("-lock-", "-slots2-lock-")
}

fn with_slot() -> Node {
    let data = br#"{"version":1,"host":"h","pid":1,"user":"u","program":"p","mode":"slots","slots":2,"has_slot":true}"#;
    Node { data: data.to_vec(), ..theirs() }
}

#[test]
fn the_first_waiter_for_a_slot_watches_the_holders() {
    let (mut contender, own, reaction) = behind_slots(&[1, 3]);
    assert_eq!(reaction.requests, [&own, &slot(3), &slot(1)].map(|name| Request::Watch(at(name))));
    contender.take(Reply::Read(at(&slot(3)), Ok(with_slot().into())));
    let reaction = contender.take(Reply::Read(at(&slot(1)), Ok(with_slot().into())));
    assert!(matches!(reaction.events[..], [Event::Waiting { ahead: 2, .. }]), "{reaction:?}");
    let reaction = contender.take(Reply::Changed(at(&slot(1)), false));
    assert_eq!(reaction.requests, [Request::Watch(at(&slot(1)))], "new data frees no slot");
    assert_eq!(contender.take(Reply::Changed(at(&slot(1)), true)).requests, list());
}

#[test]
fn a_later_waiter_for_a_slot_hears_that_its_predecessor_has_one() {
    let (mut contender, own, reaction) = behind_slots(&[1, 3, 4]);
    assert_eq!(reaction.requests, [&own, &slot(4)].map(|name| Request::Watch(at(name))));
    let reaction = contender.take(Reply::Read(at(&slot(4)), Ok(with_slot().into())));
    assert_eq!(reaction.requests, list_after_a_gap(), "it got its slot before the watch was set");
    let (mut contender, _, _) = behind_slots(&[1, 3, 4]);
    let reaction = contender.take(Reply::Read(at(&slot(4)), Ok(theirs().into())));
    assert!(matches!(reaction.events[..], [Event::Waiting { ahead: 3, .. }]), "{reaction:?}");
    assert_eq!(contender.take(Reply::Changed(at(&slot(4)), false)).requests, list());
}

#[test]
fn a_reader_beside_curator_lists_again_when_its_only_predecessor_goes() {
    let mut contender = contender(false);
    (contender.config.family, contender.config.mode) = (Family::CuratorRw, Mode::Shared);
    let own = name(&prefix(&contender.begin()), 5);
    contender.take(Reply::Created(Ok(created(&own))));
    let writer = name(&name::prefix(Family::CuratorRw, Mode::Exclusive, Uuid::from_u128(9)), 3);
    contender.take(Reply::Listed(Ok(vec![writer.clone(), own.clone()])));
    contender.take(Reply::Read(at(&own), Ok(ours(50).into())));
    contender.take(Reply::Read(at(&writer), Ok(theirs().into())));
    assert_eq!(contender.take(Reply::Changed(at(&writer), true)).requests, list());
}
