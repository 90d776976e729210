//! Servers that crash, freeze or are cut off. Each scene repairs at its end what it broke.

use std::time::Duration;

use super::Scene;
use super::play::{Play, check, create, exists, get, list, set};
use crate::ensemble::wire::{Mode, Op};

pub(super) const SEVERAL: &[Scene] = &[
    ("a_session_outlives_its_follower", follower_killed),
    ("a_session_and_its_nodes_outlive_the_leader", leader_killed),
    ("a_follower_that_was_down_learns_what_it_missed", follower_back),
    ("a_follower_that_is_cut_off_answers_reads_and_then_leaves_its_clients", follower_isolated),
    ("a_write_through_a_follower_that_is_cut_off_waits", write_isolated),
    ("a_leader_that_is_cut_off_loses_its_clients_and_what_they_wrote_last", leader_isolated),
    ("a_frozen_follower_answers_when_it_goes_on", follower_frozen),
    ("a_frozen_leader_is_replaced", leader_frozen),
    ("without_a_quorum_nobody_is_served", no_quorum),
    ("a_new_leader_gives_sessions_their_whole_timeout", afresh),
];

fn follower_killed(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 10_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.stage.crash(one);
    play.closed(1);
    play.resume(1, other, 10_000);
    play.ask(1, &Op::Sync);
    play.ask(1, &get("/a", false));
    play.ask(1, &set("/a", "x", 0));
    play.close(1);
    play.stage.restart(one);
    play.settle();
}

fn leader_killed(play: &mut Play<'_>) {
    let (leader, home) = (play.leader, play.home());
    play.connect_to(1, home, 20_000);
    play.create(1, "/a", Mode::Persistent);
    play.create(1, "/a/n-", Mode::EphemeralSequential);
    play.stage.crash(leader);
    play.closed(1);
    play.settle();
    play.resume(1, home, 20_000);
    play.create(1, "/a/n-", Mode::EphemeralSequential);
    play.ask(1, &list("/a", false));
    play.stage.restart(leader);
    play.settle();
    play.resume(1, leader, 20_000);
    play.ask(1, &Op::Sync);
    play.ask(1, &list("/a", false));
    play.close(1);
}

fn follower_back(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 20_000);
    play.create(1, "/a", Mode::Persistent);
    play.stage.crash(other);
    play.settle();
    play.ask(1, &set("/a", "missed", -1));
    play.create(1, "/b", Mode::Ephemeral);
    play.stage.restart(other);
    play.settle();
    play.connect_to(2, other, 20_000);
    play.ask(2, &get("/a", false));
    play.ask(2, &get("/b", true));
    play.close(1);
    play.event(2);
    play.close(2);
}

fn follower_isolated(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 20_000);
    play.connect_to(2, other, 20_000);
    play.create(1, "/a", Mode::Persistent);
    play.ask(2, &Op::Sync);
    play.stage.isolate(other, true);
    play.ask(1, &set("/a", "new", -1));
    // The isolated follower still answers reads from its own state.
    play.ask(2, &get("/a", false));
    play.closed(2);
    play.stage.isolate(other, false);
    play.settle();
    play.resume(2, other, 20_000);
    play.ask(2, &Op::Sync);
    play.ask(2, &get("/a", false));
    play.close(1);
    play.close(2);
}

fn write_isolated(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 20_000);
    play.connect_to(2, other, 20_000);
    play.create(1, "/a", Mode::Persistent);
    play.ask(2, &Op::Sync);
    play.stage.isolate(other, true);
    play.send(2, &set("/a", "lost", -1));
    play.send(2, &exists("/a"));
    play.next(2, Duration::from_millis(200));
    play.answer(2, "write");
    play.ask(1, &get("/a", false));
    play.stage.isolate(other, false);
    play.settle();
    play.close(1);
}

fn leader_isolated(play: &mut Play<'_>) {
    let [one, _] = play.followers()[..] else { panic!("three servers") };
    let leader = play.leader;
    play.connect_to(1, one, 20_000);
    play.connect_to(2, leader, 20_000);
    play.create(1, "/a", Mode::Persistent);
    play.ask(2, &exists("/a"));
    play.stage.isolate(leader, true);
    // The isolated leader still answers what needs no quorum.
    play.ask(2, &Op::Sync);
    play.ask(2, &get("/a", false));
    play.send(2, &Op::Multi(vec![check("/a", -1)]));
    play.answer(2, "confirm");
    play.closed(1);
    play.stage.isolate(leader, false);
    play.settle();
    let home = play.home();
    play.resume(1, home, 20_000);
    play.ask(1, &Op::Sync);
    play.ask(1, &exists("/a"));
    play.close(1);
}

fn follower_frozen(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 20_000);
    play.connect_to(2, other, 20_000);
    play.create(1, "/a", Mode::Persistent);
    play.ask(2, &Op::Sync);
    play.stage.freeze(other);
    play.ask(1, &set("/a", "x", -1));
    play.send(2, &create("/b", Mode::Ephemeral));
    play.next(2, Duration::from_millis(300));
    play.stage.thaw(other);
    play.answer(2, "create");
    play.ask(2, &get("/a", false));
    play.close(1);
    play.close(2);
}

fn leader_frozen(play: &mut Play<'_>) {
    let (leader, home) = (play.leader, play.home());
    play.connect_to(1, home, 20_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.stage.freeze(leader);
    play.closed(1);
    play.settle();
    let home = play.home();
    play.resume(1, home, 20_000);
    play.ask(1, &set("/a", "x", -1));
    play.stage.thaw(leader);
    play.settle();
    play.connect_to(2, leader, 20_000);
    play.ask(2, &Op::Sync);
    play.ask(2, &get("/a", false));
    play.close(1);
    play.close(2);
}

fn no_quorum(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    let leader = play.leader;
    play.connect_to(1, leader, 20_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.stage.crash(one);
    play.stage.crash(other);
    play.closed(1);
    play.resume(1, leader, 20_000);
    play.stage.restart(one);
    play.stage.restart(other);
    play.settle();
    play.resume(1, leader, 20_000);
    play.ask(1, &exists("/a"));
    play.close(1);
}

fn afresh(play: &mut Play<'_>) {
    let (leader, home) = (play.leader, play.home());
    play.connect_to(1, home, 4_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.hang_up(1);
    play.pass(Duration::from_secs(2));
    play.stage.crash(leader);
    let since = play.stage.now();
    play.settle();
    let home = play.home();
    play.connect_to(2, home, 20_000);
    // The session's timeout counts from the election, which may take seconds.
    let latest = play.since(since) + Duration::from_secs(6);
    play.gone_between(2, "/a", since, Duration::from_secs(4)..latest);
    play.close(2);
    play.stage.restart(leader);
    play.settle();
}
