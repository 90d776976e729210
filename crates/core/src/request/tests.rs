use super::*;
use crate::path::NodePath;
use crate::protocol::{LockNode, Node, ReadNode, Reply, Request, RequestError, ServerTime};
use crate::time::BootTime;

use RequestError::{ConnectionLost, NoAuth, NoNode, Unsupported};

const NODE: &str = "/l/a/n";

fn first(request: Request, may_hide: bool) -> Step {
    Step::first(request, may_hide, BootTime::from_nanos(7))
}

fn create(may_hide: bool) -> Step {
    first(Request::Create { path: "/l/a/n-".into(), data: vec![1] }, may_hide)
}

fn error(refusal: Refusal, why: RequestError) -> Result<CallAnswer, CallError> {
    Err(CallError { refusal, why })
}

fn refused(why: RequestError) -> Result<CallAnswer, CallError> {
    error(Refusal::Other, why)
}

fn exists() -> Result<CallAnswer, CallError> {
    error(Refusal::NodeExists, RequestError::Other("exists".to_owned()))
}

fn throttled() -> Result<CallAnswer, CallError> {
    error(Refusal::Throttled, RequestError::Other("throttled".to_owned()))
}

#[allow(clippy::unnecessary_wraps, reason = "as the others")]
fn created() -> Result<CallAnswer, CallError> {
    Ok(CallAnswer::Created(LockNode { path: "/l/a/n-3".into(), czxid: 5 }))
}

fn node() -> Node {
    Node { czxid: 5, modified: ServerTime(8), ..Node::default() }
}

/// The step that is sent next.
fn next(next: FollowUp) -> Step {
    match next {
        FollowUp::Send(step) => step,
        other => panic!("{other:?}"),
    }
}

/// Answers the calls of a request one after another. Returns the calls, and the reply.
fn answered(mut step: Step, answers: Vec<Result<CallAnswer, CallError>>) -> (Vec<String>, Reply) {
    let mut calls = vec![];
    for answer in answers {
        calls.push(shown(step.call()));
        match step.answered(answer) {
            FollowUp::Send(next) | FollowUp::SendLater(next) => step = next,
            FollowUp::Reply(reply) | FollowUp::Watching(reply, _) => return (calls, reply),
            FollowUp::Second(_) => panic!("not a list"),
        }
    }
    panic!("no reply after {calls:?}")
}

fn shown(call: Call<'_>) -> String {
    match call {
        Call::Create { path, kind, .. } => format!("create {kind:?} {path}"),
        Call::GetData { path, watch } => format!("read {path}{}", if watch { " and watch" } else { "" }),
        Call::GetChildren { path, watch } => format!("list {path}{}", if watch { " and watch" } else { "" }),
        Call::Exists { path } => format!("exists {path}"),
        Call::Delete { path, .. } => format!("delete {path}"),
        Call::Record { record, exists, node, .. } => {
            format!("{} {record}, delete {node}", if exists { "write" } else { "create" })
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn a_new_node_is_read_only_if_its_acl_might_hide_it() {
    let made = LockNode { path: "/l/a/n-3".into(), czxid: 5 };
    let (calls, reply) = answered(create(false), vec![created()]);
    assert_eq!(
        (&calls[..], reply),
        (&["create EphemeralSequential /l/a/n-".to_owned()][..], Reply::Created(Ok(made.clone())))
    );
    for (answer, reply) in [
        (Ok(CallAnswer::Node(node())), Ok(made.clone())),
        (refused(NoAuth), Err(RequestError::Hidden)),
        (refused(ConnectionLost), Err(ConnectionLost)),
        // The queue shows what became of it.
        (refused(NoNode), Ok(made)),
    ] {
        let (calls, got) = answered(create(true), vec![created(), throttled(), answer]);
        assert_eq!(calls[1..], ["read /l/a/n-3", "read /l/a/n-3"]);
        assert_eq!(got, Reply::Created(reply));
    }
}

#[test]
fn a_server_without_the_create_that_returns_a_stat_is_too_old() {
    assert_eq!(
        create(false).answered(refused(Unsupported)),
        FollowUp::Reply(Reply::Created(Err(RequestError::TooOld)))
    );
}

/// A list from before the sync proves nothing.
#[test]
fn a_list_counts_only_after_the_sync_that_was_sent_with_it() {
    let step = || first(Request::CatchUpAndList("/l/a".into()), false);
    let list = || step().second().unwrap();
    assert_eq!(step().call(), Call::Sync { path: "/l/a" });
    assert_eq!(list().call(), Call::GetChildren { path: "/l/a", watch: false });
    assert_eq!(list().second(), None);
    assert_eq!(step().answered(Ok(CallAnswer::Done)), FollowUp::Second(list()));
    assert_eq!(step().answered(refused(NoNode)), FollowUp::Second(list()), "the list fails the same way");
    assert_eq!(step().answered(throttled()), FollowUp::SendLater(step()), "both again");
    assert_eq!(step().answered(refused(ConnectionLost)), FollowUp::Reply(Reply::Listed(Err(ConnectionLost))));
}

#[test]
fn a_throttled_request_is_sent_again_but_a_confirmation_and_a_delete() {
    let path = || NodePath::from(NODE);
    for request in [
        Request::List(path()),
        Request::Watch(path()),
        Request::Get(path()),
        Request::Write(path(), vec![], 2),
        Request::MakeParents(path()),
        Request::RecordSuccess { record: path(), data: vec![], node: path() },
    ] {
        let step = first(request, false);
        assert_eq!(step.clone().answered(throttled()), FollowUp::SendLater(step));
    }
    for request in
        [Request::Confirm(vec![path()]), Request::Delete(path()), Request::DeleteUnchanged(path(), 1)]
    {
        assert!(matches!(first(request, false).answered(throttled()), FollowUp::Reply(_)));
    }
}

#[test]
fn a_node_that_may_not_be_read_is_watched_from_above() {
    let watch = || first(Request::Watch(NODE.into()), false);
    let above = next(watch().answered(refused(NoAuth)));
    assert_eq!(above.call(), Call::GetChildren { path: "/l/a", watch: true });
    let listed = |name: &str| Ok(CallAnswer::Children(vec![name.to_owned()]));
    let hidden = Reply::Read(NODE.into(), Ok(ReadNode::Hidden));
    assert_eq!(above.clone().answered(listed("n")), FollowUp::Watching(hidden, NODE.into()));
    let gone = Reply::Read(NODE.into(), Err(NoNode));
    assert_eq!(above.answered(listed("m")), FollowUp::Reply(gone), "no watch is kept");
    let seen = Reply::Read(NODE.into(), Ok(ReadNode::Seen(node())));
    assert_eq!(watch().answered(Ok(CallAnswer::Node(node()))), FollowUp::Watching(seen, NODE.into()));
}

#[test]
fn of_a_node_that_may_not_be_read_the_stat_or_the_existence_is_known() {
    let get = || first(Request::Get(NODE.into()), false);
    for (answer, known) in [
        (Ok(CallAnswer::Node(node())), Ok(ReadNode::Seen(node()))),
        (refused(NoAuth), Ok(ReadNode::Hidden)),
        (refused(NoNode), Err(NoNode)),
    ] {
        let (calls, reply) = answered(get(), vec![refused(NoAuth), answer]);
        assert_eq!(calls, ["read /l/a/n", "exists /l/a/n"]);
        assert_eq!(reply, Reply::Read(NODE.into(), known));
    }
}

#[test]
fn missing_parents_are_created_from_the_highest_that_is_missing() {
    let parents = || first(Request::MakeParents("/locks/app/job".into()), false);
    let (calls, reply) =
        answered(parents(), vec![refused(NoNode), refused(NoNode), exists(), created(), created()]);
    let create = |path: &str| format!("create Container {path}");
    assert_eq!(calls, ["/locks/app/job", "/locks/app", "/locks", "/locks/app", "/locks/app/job"].map(create));
    assert_eq!(reply, Reply::ParentsMade(Ok(())));
    let (_, reply) = answered(parents(), vec![refused(NoNode), refused(NoNode), refused(NoNode)]);
    assert_eq!(reply, Reply::ParentsMade(Err(NoNode)), "the chroot is missing");
}

#[test]
fn a_server_without_containers_gets_persistent_nodes_and_is_asked_for_them_once() {
    let parents = || first(Request::MakeParents("/l/a".into()), false);
    let (calls, _) = answered(parents(), vec![refused(NoNode), refused(Unsupported), exists()]);
    assert_eq!(calls, ["create Container /l/a", "create Container /l", "create Persistent /l/a"]);
    let (_, reply) = answered(parents(), vec![refused(Unsupported), refused(Unsupported)]);
    assert_eq!(reply, Reply::ParentsMade(Err(Unsupported)));
}

#[test]
fn the_node_is_named_below_which_nothing_may_be_created() {
    let parents = || first(Request::MakeParents("/l/a/b".into()), false);
    for (missing, parent) in ["/l/a", "/l", "/"].into_iter().enumerate() {
        let (_, reply) =
            answered(parents(), [vec![refused(NoNode); missing], vec![refused(NoAuth)]].concat());
        assert_eq!(reply, Reply::ParentsMade(Err(RequestError::NoCreate(parent.to_owned()))));
    }
}

#[test]
fn the_record_is_created_if_it_is_missing_and_written_if_it_is_there() {
    let record = || Request::RecordSuccess { record: "/l/.a".into(), data: vec![], node: NODE.into() };
    let (calls, reply) =
        answered(first(record(), false), vec![refused(NoNode), exists(), Ok(CallAnswer::Done)]);
    assert_eq!(
        calls,
        ["write /l/.a, delete /l/a/n", "create /l/.a, delete /l/a/n", "write /l/.a, delete /l/a/n"]
    );
    assert_eq!(reply, Reply::SuccessRecorded(Ok(())));
    let gone = first(record(), false).answered(error(Refusal::Later, NoNode));
    assert_eq!(gone, FollowUp::Reply(Reply::SuccessRecorded(Err(NoNode))), "zklock's own node is gone");
}

#[test]
fn a_confirmation_counts_from_just_before_it_was_sent() {
    let confirm = first(Request::Confirm(vec![NODE.into()]), false);
    assert!(matches!(confirm.call(), Call::Check { paths } if paths == [NodePath::from(NODE)]));
    let at = BootTime::from_nanos(7);
    assert_eq!(confirm.clone().answered(Ok(CallAnswer::Done)), FollowUp::Reply(Reply::Confirmed(at, Ok(()))));
    assert_eq!(confirm.answered(refused(NoNode)), FollowUp::Reply(Reply::Confirmed(at, Err(NoNode))));
}
