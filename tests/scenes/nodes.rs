//! Nodes: creating, naming, reading, writing and deleting.

use std::time::Duration;

use super::Scene;
use super::play::{Play, check, create, create_for, delete, exists, get, list, set};
use crate::ensemble::wire::{Acl, Mode, Op};

pub(super) const SCENES: &[Scene] = &[
    ("a_node_is_created_read_and_deleted", create_and_delete),
    ("sequential_names_count_all_children", sequential_names),
    ("a_sequential_name_may_be_nothing_but_its_number", bare_numbers),
    ("missing_nodes", missing_nodes),
    ("bad_paths", bad_paths),
    ("versions_are_checked", versions),
    ("a_parent_with_children_stays", not_empty),
    ("children_are_counted", child_counts),
    ("a_transaction_is_done_as_a_whole", multi),
    ("a_transaction_that_fails_changes_nothing", multi_fails),
    ("a_transaction_sees_its_own_changes", multi_sees_itself),
    ("a_transaction_of_checks", multi_checks),
    ("each_change_has_a_transaction_of_its_own", transactions),
    ("a_container_goes_when_its_last_child_has_gone", container),
    ("a_container_that_was_never_used_stays", unused_container),
    ("ephemeral_nodes_have_no_children", ephemeral_parent),
    ("ephemeral_nodes_go_with_the_session", ephemeral_at_close),
    ("who_may_not_create", no_create),
    ("who_may_not_delete", no_delete),
    ("who_may_not_write", no_write),
    ("who_may_not_read", no_read),
    ("requests_are_answered_in_order", in_order),
];

fn create_and_delete(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/a", Mode::Persistent);
    play.ask(1, &exists("/a", false));
    play.ask(1, &get("/a", false));
    play.ask(1, &delete("/a", -1));
    play.ask(1, &get("/a", false));
    play.close(1);
}

fn sequential_names(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/a/n-", Mode::PersistentSequential);
    play.create(1, "/a/other", Mode::Persistent);
    play.create(1, "/a/n-", Mode::EphemeralSequential);
    play.ask(1, &delete("/a/other", -1));
    play.create(1, "/a/m-", Mode::EphemeralSequential);
    // A failed create doesn't advance the counter.
    play.create(1, "/a/m-0000000003", Mode::Persistent);
    play.create(1, "/a/m-", Mode::PersistentSequential);
    play.ask(1, &list("/a", false));
    play.close(1);
}

fn bare_numbers(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/a/", Mode::EphemeralSequential);
    play.create(1, "/a/", Mode::EphemeralSequential);
    play.close(1);
}

fn missing_nodes(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a/b", Mode::Persistent);
    for op in [exists("/a", false), get("/a", false), list("/a", false)] {
        play.ask(1, &op);
    }
    for op in [set("/a", "x", -1), delete("/a", -1), delete("/a/b", -1)] {
        play.ask(1, &op);
    }
    play.close(1);
}

fn bad_paths(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/b//c", Mode::Persistent);
    play.create(1, "/a", Mode::Persistent);
    for path in ["/a/", "/a//b", "/a/./b", "/a/../b"] {
        play.create(1, path, Mode::Persistent);
    }
    play.ask(1, &delete("!/", -1));
    play.close(1);
}

fn versions(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    for op in [set("/a", "one", 0), set("/a", "none", 0), set("/a", "two", -1), set("/a", "three", 2)] {
        play.ask(1, &op);
    }
    play.ask(1, &get("/a", false));
    play.ask(1, &delete("/a", 0));
    play.ask(1, &delete("/a", 3));
    play.close(1);
}

fn not_empty(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/a/b", Mode::Ephemeral);
    play.ask(1, &delete("/a", -1));
    play.ask(1, &delete("/a/b", -1));
    play.ask(1, &delete("/a", -1));
    play.close(1);
}

fn child_counts(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    for child in ["/a/x", "/a/y", "/a/z"] {
        play.create(1, child, Mode::Persistent);
    }
    play.ask(1, &exists("/a", false));
    play.ask(1, &delete("/a/y", -1));
    play.ask(1, &set("/a/x", "longer data", -1));
    play.ask(1, &exists("/a", false));
    play.ask(1, &exists("/a/x", false));
    play.close(1);
}

fn multi(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    let ops = vec![
        check("/a", 0),
        create("/a/b", Mode::Ephemeral),
        set("/a", "new", 0),
        create("/a/n-", Mode::PersistentSequential),
        delete("/a/b", -1),
    ];
    play.ask(1, &Op::Multi(ops));
    play.ask(1, &get("/a", false));
    play.ask(1, &list("/a", false));
    play.close(1);
}

fn multi_fails(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/a/b", Mode::Ephemeral);
    let ops = vec![
        set("/a", "new", 0),
        delete("/a/b", -1),
        create("/a/c", Mode::Ephemeral),
        check("/a", 0),
        delete("/a/none", -1),
    ];
    play.ask(1, &Op::Multi(ops));
    play.ask(1, &get("/a", false));
    play.ask(1, &list("/a", false));
    play.create(1, "/a/n-", Mode::EphemeralSequential);
    play.ask(1, &Op::Multi(vec![set("/none", "x", -1), delete("/a/b", -1)]));
    play.ask(1, &Op::Multi(vec![delete("/a/b", -1), set("/none", "x", -1)]));
    play.close(1);
    // An ephemeral node still belongs to its session after its deletion was rolled back.
    play.connect(2, 10_000);
    play.ask(2, &list("/a", false));
    play.close(2);
}

fn multi_sees_itself(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    let ops = vec![
        create("/a", Mode::Persistent),
        create("/a/b", Mode::Persistent),
        set("/a/b", "x", 0),
        check("/a/b", 1),
    ];
    play.ask(1, &Op::Multi(ops));
    play.ask(1, &Op::Multi(vec![delete("/a/b", 1), delete("/a", 0)]));
    play.ask(1, &exists("/a", false));
    play.close(1);
}

fn multi_checks(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/b", Mode::Ephemeral);
    play.ask(1, &Op::Multi(vec![check("/a", -1), check("/b", -1)]));
    play.ask(1, &Op::Multi(vec![check("/a", -1), check("/none", -1)]));
    play.ask(1, &Op::Multi(vec![check("/a", 7)]));
    play.ask(1, &exists("/a", false));
    play.close(1);
}

fn transactions(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    for path in ["/a", "/a/b", "/c"] {
        play.create(1, path, Mode::Persistent);
    }
    play.ask(1, &set("/a/b", "x", -1));
    play.ask(1, &delete("/c", -1));
    for path in ["", "/a", "/a/b"] {
        play.ask(1, &exists(path, false));
    }
    play.close(1);
}

fn container(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Container);
    play.create(1, "/a/b", Mode::Ephemeral);
    play.ask(1, &exists("/a", true));
    play.ask(1, &delete("/a/b", -1));
    play.event(1);
    play.ask(1, &exists("/a", false));
    play.close(1);
}

fn unused_container(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Container);
    play.create(1, "/b", Mode::Container);
    play.create(1, "/b/c", Mode::Container);
    play.pass(Duration::from_millis(1_200));
    play.ask(1, &list("", false));
    play.ask(1, &exists("/b", false));
    play.close(1);
}

fn ephemeral_parent(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.create(1, "/a/b", Mode::Persistent);
    play.create(1, "/a/n-", Mode::EphemeralSequential);
    play.close(1);
}

fn ephemeral_at_close(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.connect(2, 10_000);
    play.create(1, "/a", Mode::Persistent);
    for path in ["/a/one", "/a/two"] {
        play.create(1, path, Mode::Ephemeral);
    }
    play.create(2, "/a/three", Mode::Ephemeral);
    play.close(1);
    play.ask(2, &Op::Sync);
    play.ask(2, &list("/a", false));
    play.close(2);
}

const ALL: u8 = Acl::ALL;

fn no_create(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.ask(1, &create_for("/a", Mode::Persistent, Acl::alike(ALL & !Acl::CREATE)));
    play.create(1, "/a/b", Mode::Persistent);
    play.create(1, "/a/n-", Mode::EphemeralSequential);
    play.ask(1, &Op::Multi(vec![check("/a", -1), create("/a/b", Mode::Persistent)]));
    play.close(1);
}

fn no_delete(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.ask(1, &create_for("/a", Mode::Persistent, Acl::alike(ALL & !Acl::DELETE)));
    play.create(1, "/a/b", Mode::Ephemeral);
    play.ask(1, &delete("/a/b", -1));
    play.ask(1, &delete("/a/none", -1));
    // Closing the session deletes the node without that permission.
    play.close(1);
    play.connect(2, 10_000);
    play.ask(2, &list("/a", false));
    play.close(2);
}

fn no_write(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.ask(1, &create_for("/a", Mode::Persistent, Acl::alike(ALL & !Acl::WRITE)));
    play.ask(1, &set("/a", "x", -1));
    play.ask(1, &set("/a", "x", 9));
    play.ask(1, &get("/a", false));
    play.close(1);
}

fn no_read(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.ask(1, &create_for("/a", Mode::Persistent, Acl::alike(ALL & !Acl::READ)));
    for op in [get("/a", true), list("/a", true), exists("/a", false), set("/a", "x", -1)] {
        play.ask(1, &op);
    }
    play.ask(1, &Op::Multi(vec![check("/a", -1)]));
    play.close(1);
}

fn in_order(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    let ops = [
        create("/a", Mode::Persistent),
        get("/a", false),
        set("/a", "x", -1),
        Op::Sync,
        get("/a", false),
        delete("/a", -1),
        exists("/a", false),
        Op::Ping,
    ];
    for op in &ops[..7] {
        play.send(1, op);
    }
    for (number, _) in ops[..7].iter().enumerate() {
        play.answer(1, &format!("answer {number}"));
    }
    play.close(1);
}
