//! zklock's sessions: compares the simulated client with the real one.

use std::time::Duration;

use super::Scene;
use super::play::Play;
use crate::client::ClientEvent;
use crate::client::message::{NodePath, Reply, Request, SessionChange};

pub(super) const SCENES: &[Scene] = &[
    ("a_contender_comes_and_goes", comes_and_goes),
    ("a_predecessor_is_watched", predecessor),
    ("a_session_gets_back_and_has_no_watches", gets_back),
    ("what_is_under_way_is_lost_with_the_connection", under_way),
    ("what_is_asked_without_a_connection_is_answered_on_the_next", asked_while_away),
    ("a_session_that_was_away_for_too_long_has_expired", expired),
    ("a_timeout_that_is_too_short_is_asked_for_again", negotiated),
    ("a_record_is_written_with_the_end", conclude),
    ("requests_for_what_is_missing", missing),
    ("a_session_given_up_before_it_began", given_up),
    ("a_silent_server_is_given_up", silent),
];

/// Scenes for several servers.
pub(super) const SEVERAL: &[Scene] = &[
    ("a_session_goes_on_at_another_server", another_server),
    ("a_session_outlives_a_leader", leader_killed),
];

const T: Duration = Duration::from_secs(6);

fn is_connected(news: &ClientEvent) -> bool {
    matches!(news, ClientEvent::Session(SessionChange::Connected { .. }))
}

fn is_reconnected(news: &ClientEvent) -> bool {
    matches!(news, ClientEvent::Session(SessionChange::Reconnected))
}

fn is_over(news: &ClientEvent) -> bool {
    matches!(
        news,
        ClientEvent::Session(SessionChange::Closed | SessionChange::Lost(_) | SessionChange::Unreachable(_))
    )
}

fn open(play: &mut Play<'_>, who: usize) {
    let home = play.home();
    play.stage.open(who, &[home], T);
    play.news_until(who, is_connected);
}

fn close(play: &mut Play<'_>, who: usize, nodes: Vec<String>) {
    play.stage.release(who, nodes.into_iter().map(NodePath::from).collect());
    play.news_until(who, is_over);
}

fn parent(play: &mut Play<'_>, who: usize) -> String {
    let parent = play.path("/locks/job");
    play.request(who, 1, Request::MakeParents(parent.clone().into()));
    parent
}

fn create(play: &mut Play<'_>, who: usize, parent: &str) -> String {
    let path = format!("{parent}/n-lock-").into();
    match play.request(who, 2, Request::Create { path, data: b"who".to_vec() }) {
        Some(Reply::Created(Ok(created))) => created.path.to_string(),
        _ => String::new(),
    }
}

fn comes_and_goes(play: &mut Play<'_>) {
    open(play, 1);
    let parent = parent(play, 1);
    let node = create(play, 1, &parent);
    play.request(1, 3, Request::List(parent.clone().into()));
    play.request(1, 4, Request::CatchUpAndList(parent.clone().into()));
    play.request(1, 5, Request::Get(node.clone().into()));
    play.request(1, 6, Request::Write(node.clone().into(), b"more".to_vec(), 0));
    play.request(1, 7, Request::Write(node.clone().into(), b"none".to_vec(), 0));
    play.request(1, 8, Request::Confirm(vec![node.clone().into(), parent.into()]));
    play.request(1, 9, Request::DeleteUnchanged(node.clone().into(), 0));
    play.request(1, 10, Request::Get(node.clone().into()));
    close(play, 1, vec![node]);
}

fn predecessor(play: &mut Play<'_>) {
    open(play, 1);
    let parent = parent(play, 1);
    open(play, 2);
    let first = create(play, 1, &parent);
    let second = create(play, 2, &parent);
    play.request(2, 3, Request::Watch(first.clone().into()));
    play.request(2, 4, Request::Watch(second.clone().into()));
    play.request(1, 5, Request::Write(first.clone().into(), b"revoked".to_vec(), -1));
    play.news_until(2, |news| matches!(news, ClientEvent::Reply(3, _)));
    play.request(2, 6, Request::Watch(first.clone().into()));
    close(play, 1, vec![first]);
    play.news_until(2, |news| matches!(news, ClientEvent::Reply(6, _)));
    play.request(2, 7, Request::Delete(second.clone().into()));
    close(play, 2, vec![second]);
}

fn gets_back(play: &mut Play<'_>) {
    open(play, 1);
    let parent = parent(play, 1);
    let node = create(play, 1, &parent);
    play.request(1, 3, Request::Watch(node.clone().into()));
    let home = play.home();
    play.stage.cut(1, home);
    play.news_until(1, is_reconnected);
    play.request(1, 4, Request::Write(node.clone().into(), b"x".to_vec(), -1));
    play.request(1, 5, Request::Watch(node.clone().into()));
    play.request(1, 6, Request::Write(node.clone().into(), b"y".to_vec(), -1));
    close(play, 1, vec![node]);
}

fn under_way(play: &mut Play<'_>) {
    open(play, 1);
    let (home, root) = (play.home(), play.path(""));
    play.stage.set_hole(1, home, true);
    for (number, request) in [
        (3, Request::List(root.clone().into())),
        (4, Request::Get(root.clone().into())),
        (5, Request::Confirm(vec![root.clone().into()])),
        (6, Request::CatchUpAndList(root.clone().into())),
    ] {
        play.stage.ask(1, number, request);
    }
    play.pass(Duration::from_millis(100));
    play.stage.cut(1, home);
    play.stage.set_hole(1, home, false);
    let begin = play.trace.len();
    play.news_until(1, is_reconnected);
    play.trace[begin..].sort();
    play.request(1, 7, Request::List(root.into()));
    close(play, 1, vec![]);
}

fn asked_while_away(play: &mut Play<'_>) {
    open(play, 1);
    let (home, root) = (play.home(), play.path(""));
    play.stage.refuse(1, home, true);
    play.stage.cut(1, home);
    play.news_until(1, |news| matches!(news, ClientEvent::Session(SessionChange::Disconnected)));
    play.stage.ask(1, 3, Request::List(root.clone().into()));
    play.stage.ask(1, 4, Request::Confirm(vec![root.into()]));
    play.stage.refuse(1, home, false);
    play.news_until(1, |news| matches!(news, ClientEvent::Reply(4, _)));
    close(play, 1, vec![]);
}

fn expired(play: &mut Play<'_>) {
    let home = play.home();
    play.connect(2, 20_000);
    play.stage.open(1, &[home], Duration::from_secs(2));
    play.news_until(1, is_connected);
    let parent = parent(play, 1);
    let node = create(play, 1, &parent);
    let node = node.strip_prefix(&play.path("")).unwrap().to_owned();
    play.stage.refuse(1, home, true);
    play.stage.cut(1, home);
    let since = play.stage.now();
    play.gone_after(2, &node, since, Duration::from_millis(1_500));
    play.stage.refuse(1, home, false);
    play.news_until(1, is_over);
    play.close(2);
}

fn negotiated(play: &mut Play<'_>) {
    let home = play.home();
    for timeout in [Duration::from_millis(150), Duration::from_secs(90)] {
        play.stage.open(1, &[home], timeout);
        play.news_until(1, is_connected);
        close(play, 1, vec![]);
    }
}

fn conclude(play: &mut Play<'_>) {
    open(play, 1);
    let parent = parent(play, 1);
    let record = play.path("/locks/.job.zklock-last");
    for data in [b"once", b"more"] {
        let node = create(play, 1, &parent);
        let request = |data: &[u8]| Request::RecordSuccess {
            record: record.clone().into(),
            data: data.to_vec(),
            node: node.clone().into(),
        };
        play.request(1, 3, request(data));
        play.request(1, 4, Request::Get(record.clone().into()));
        // Nothing is recorded because the node is gone.
        play.request(1, 5, request(b"not"));
        play.request(1, 6, Request::Get(record.clone().into()));
    }
    close(play, 1, vec![]);
}

fn missing(play: &mut Play<'_>) {
    open(play, 1);
    let path = play.path("/missing");
    for (number, request) in [
        (3, Request::List(path.clone().into())),
        (4, Request::CatchUpAndList(path.clone().into())),
        (5, Request::Watch(path.clone().into())),
        (6, Request::Get(path.clone().into())),
        (7, Request::Write(path.clone().into(), vec![], 0)),
        (8, Request::Delete(path.clone().into())),
        (9, Request::Confirm(vec![path.clone().into()])),
        (10, Request::Create { path: format!("{path}/n-").into(), data: vec![] }),
    ] {
        play.request(1, number, request);
    }
    close(play, 1, vec![path]);
}

fn given_up(play: &mut Play<'_>) {
    let home = play.home();
    play.stage.refuse(1, home, true);
    play.stage.open(1, &[home], T);
    play.stage.release(1, vec![]);
    play.news_until(1, is_over);
    play.stage.refuse(1, home, false);
}

fn silent(play: &mut Play<'_>) {
    open(play, 1);
    let home = play.home();
    play.stage.set_hole(1, home, true);
    let since = play.stage.now();
    play.news_until(1, |news| matches!(news, ClientEvent::Session(SessionChange::Disconnected)));
    let took = play.since(since);
    // An eighth of the timeout after the last packet arrived, noticed a little later.
    let is_right = took >= T / 16 && took < T / 8 + Duration::from_secs(1);
    play.trace.push(if is_right {
        "given up in time".to_owned()
    } else {
        format!("given up after {took:?}")
    });
    play.stage.cut(1, home);
    play.stage.set_hole(1, home, false);
    play.news_until(1, is_reconnected);
    close(play, 1, vec![]);
}

fn another_server(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.stage.refuse(1, other, true);
    play.stage.open(1, &[one, other], T);
    play.news_until(1, is_connected);
    let parent = parent(play, 1);
    let node = create(play, 1, &parent);
    play.stage.refuse(1, other, false);
    play.stage.refuse(1, one, true);
    play.stage.cut(1, one);
    play.news_until(1, is_reconnected);
    play.request(1, 3, Request::CatchUpAndList(parent.into()));
    play.request(1, 4, Request::Confirm(vec![node.clone().into()]));
    play.stage.refuse(1, one, false);
    close(play, 1, vec![node]);
}

fn leader_killed(play: &mut Play<'_>) {
    let (leader, followers) = (play.leader, play.followers());
    play.stage.open(1, &followers, Duration::from_secs(20));
    play.news_until(1, is_connected);
    let parent = parent(play, 1);
    let node = create(play, 1, &parent);
    play.stage.crash(leader);
    play.news_until(1, is_reconnected);
    play.request(1, 3, Request::Confirm(vec![node.clone().into()]));
    play.request(1, 4, Request::List(parent.into()));
    close(play, 1, vec![node]);
    play.stage.restart(leader);
    play.settle();
}
