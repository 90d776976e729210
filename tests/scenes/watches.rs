//! Watches: setting, firing and setting again.

use std::time::Duration;

use super::Scene;
use super::play::{Play, create, delete, exists, get, list, set};
use crate::ensemble::wire::{Mode, Op};

pub(super) const SCENES: &[Scene] = &[
    ("a_data_watch_fires_once", data_once),
    ("a_data_watch_fires_at_the_end_of_the_node", data_deleted),
    ("a_watch_on_a_missing_node_fires_when_it_is_made", exist_created),
    ("a_read_of_a_missing_node_leaves_no_watch", no_watch_on_missing),
    ("a_child_watch_fires_for_children", children),
    ("a_child_watch_hears_of_the_end_of_its_node", child_watch_deleted),
    ("both_watches_on_a_node_fire_as_one_event", both_kinds),
    ("an_event_comes_before_the_answer_that_shows_it", event_before_answer),
    ("two_watches_of_one_kind_are_one", twice),
    ("a_watch_fires_for_the_nodes_of_a_session_that_ends", session_end),
    ("a_transaction_fires_each_watch", multi),
    ("a_watch_ends_with_its_connection", ends_with_connection),
    ("watches_set_again_fire_for_what_was_missed", set_again),
    ("watches_set_again_stay_if_nothing_was_missed", set_again_quiet),
];

const A_WHILE: Duration = Duration::from_millis(150);

fn two(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.connect(2, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.ask(2, &Op::Sync);
}

fn end(play: &mut Play<'_>) {
    play.close(1);
    play.close(2);
}

fn data_once(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &get("/a", true));
    play.ask(1, &set("/a", "x", -1));
    play.event(2);
    play.ask(1, &set("/a", "y", -1));
    play.ask(1, &create("/a/b", Mode::Persistent));
    play.nothing(2, A_WHILE);
    end(play);
}

fn data_deleted(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &get("/a", true));
    play.ask(1, &delete("/a", -1));
    play.event(2);
    play.create(1, "/a", Mode::Persistent);
    play.nothing(2, A_WHILE);
    end(play);
}

fn exist_created(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &exists("/b", true));
    play.ask(2, &exists("/a", true));
    play.create(1, "/b", Mode::Ephemeral);
    play.event(2);
    play.ask(1, &delete("/a", -1));
    play.event(2);
    end(play);
}

fn no_watch_on_missing(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &get("/b", true));
    play.ask(2, &list("/b", true));
    play.create(1, "/b", Mode::Persistent);
    play.create(1, "/b/c", Mode::Persistent);
    play.nothing(2, A_WHILE);
    end(play);
}

fn children(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &list("/a", true));
    play.ask(1, &set("/a", "x", -1));
    play.create(1, "/a/b", Mode::Ephemeral);
    play.event(2);
    play.ask(2, &list("/a", true));
    play.ask(1, &delete("/a/b", -1));
    play.event(2);
    play.create(1, "/a/c", Mode::Ephemeral);
    play.nothing(2, A_WHILE);
    end(play);
}

fn child_watch_deleted(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &list("/a", true));
    play.ask(1, &delete("/a", -1));
    play.event(2);
    end(play);
}

fn both_kinds(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &list("/a", true));
    play.ask(2, &get("/a", true));
    play.ask(1, &delete("/a", -1));
    play.event(2);
    play.nothing(2, A_WHILE);
    end(play);
}

fn event_before_answer(play: &mut Play<'_>) {
    two(play);
    play.ask(1, &get("/a", true));
    play.ask(1, &list("", true));
    play.ask(1, &set("/a", "x", -1));
    play.ask(1, &get("/a", true));
    play.ask(1, &delete("/a", -1));
    end(play);
}

fn twice(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &get("/a", true));
    play.ask(2, &exists("/a", true));
    play.ask(1, &set("/a", "x", -1));
    play.event(2);
    play.nothing(2, A_WHILE);
    end(play);
}

fn session_end(play: &mut Play<'_>) {
    two(play);
    play.create(1, "/a/b", Mode::Ephemeral);
    play.ask(2, &Op::Sync);
    play.ask(2, &get("/a/b", true));
    play.ask(2, &list("/a", true));
    play.close(1);
    play.event(2);
    play.event(2);
    play.close(2);
}

fn multi(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &get("/a", true));
    play.ask(2, &list("/a", true));
    play.ask(2, &exists("/b", true));
    let ops = vec![set("/a", "x", -1), create("/a/c", Mode::Ephemeral), create("/b", Mode::Ephemeral)];
    play.ask(1, &Op::Multi(ops));
    (0..3).for_each(|_| play.event(2));
    play.ask(2, &get("/a", true));
    play.ask(1, &Op::Multi(vec![set("/a", "y", -1), delete("/none", -1)]));
    play.nothing(2, A_WHILE);
    end(play);
}

fn ends_with_connection(play: &mut Play<'_>) {
    two(play);
    play.ask(2, &get("/a", true));
    play.hang_up(2);
    let home = play.home();
    play.resume(2, home, 10_000);
    play.ask(1, &set("/a", "x", -1));
    play.nothing(2, A_WHILE);
    end(play);
}

/// Sets watches again on nodes that were changed, deleted or created, got one more child, or stayed the same.
fn again(play: &mut Play<'_>, since: i64) {
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let op = Op::SetWatches {
        since,
        data: paths(&["/a/changed", "/a/deleted", "/a/same"]),
        exist: paths(&["/a/made", "/a/missing"]),
        child: paths(&["/a/parent", "/a/childless"]),
    };
    play.ask(2, &op);
}

fn nodes(play: &mut Play<'_>) {
    two(play);
    for name in ["changed", "deleted", "same", "parent", "childless"] {
        play.create(1, &format!("/a/{name}"), Mode::Persistent);
    }
    play.ask(2, &Op::Sync);
    play.ask(2, &exists("/a/changed", false));
}

fn set_again(play: &mut Play<'_>) {
    nodes(play);
    let since = play.last_zxid(2);
    play.hang_up(2);
    play.ask(1, &set("/a/changed", "x", -1));
    play.ask(1, &delete("/a/deleted", -1));
    play.create(1, "/a/made", Mode::Ephemeral);
    play.create(1, "/a/parent/child", Mode::Ephemeral);
    let home = play.home();
    play.resume(2, home, 10_000);
    again(play, since);
    play.ask(1, &set("/a/changed", "y", -1));
    play.ask(1, &set("/a/same", "y", -1));
    play.event(2);
    play.create(1, "/a/missing", Mode::Ephemeral);
    play.event(2);
    play.create(1, "/a/childless/child", Mode::Ephemeral);
    play.event(2);
    end(play);
}

fn set_again_quiet(play: &mut Play<'_>) {
    nodes(play);
    let since = play.last_zxid(2);
    play.hang_up(2);
    let home = play.home();
    play.resume(2, home, 10_000);
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let op = Op::SetWatches {
        since,
        data: paths(&["/a/changed"]),
        exist: paths(&["/a/missing"]),
        child: paths(&["/a/parent"]),
    };
    play.ask(2, &op);
    play.nothing(2, A_WHILE);
    play.ask(1, &set("/a/changed", "x", -1));
    play.event(2);
    end(play);
}
