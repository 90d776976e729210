//! Sessions: timeouts, moves and ends.

use std::time::Duration;

use super::play::{Play, check, create, exists, get, list, set};
use super::{Scene, TICK};
use crate::ensemble::wire::{Mode, Op};

pub(super) const SCENES: &[Scene] = &[
    ("timeouts_are_negotiated", negotiated),
    ("a_silent_session_expires_after_its_timeout", expiry),
    ("a_session_that_is_pinged_lives", pinged),
    ("a_connection_lost_doesn't_end_the_session", survives),
    ("a_session_resumed_gets_its_whole_timeout_again", resumed_timeout),
    ("a_session_that_has_expired_can't_be_resumed", expired),
    ("a_session_that_was_closed_can't_be_resumed", closed),
    ("an_expired_session_loses_its_connection", connection_of_expired),
    ("a_second_connection_ends_the_first", second_connection),
    ("a_close_ends_the_connection", close_ends_connection),
];

/// Scenes for several servers.
pub(super) const SEVERAL: &[Scene] = &[
    ("a_session_moves_to_another_server", moves),
    ("a_session_moves_to_the_leader_and_back", moves_to_leader),
    ("a_write_from_the_old_server_of_a_session_is_refused", session_moved),
    ("a_transaction_from_the_old_server_of_a_session_is_refused", transaction_moved),
    ("a_session_expires_for_all_servers", expiry_everywhere),
    ("a_session_at_the_leader_expires_as_any_other", expiry_at_leader),
    ("a_follower_shows_what_was_synced", synced),
    ("a_follower_that_lags_shows_an_old_state_until_it_syncs", lags),
    ("a_session_that_was_closed_elsewhere_can't_be_resumed", closed_elsewhere),
];

const A_MOMENT: Duration = Duration::from_millis(400);

fn negotiated(play: &mut Play<'_>) {
    for timeout in [1, 399, 400, 401, 5_000, 60_000, 70_000, i32::MAX] {
        play.connect(1, timeout);
        play.close(1);
    }
}

fn expiry(play: &mut Play<'_>) {
    play.connect(2, 20_000);
    for timeout_ms in [400, 900, 1_000] {
        play.connect(1, timeout_ms);
        play.create(1, "/a", Mode::Ephemeral);
        play.ask(1, &exists("/a"));
        let since = play.stage.now();
        // The last request, and the longest time until the leader learns of it, come before the timeout begins.
        play.ask(2, &Op::Sync);
        let timeout = Duration::from_millis(timeout_ms.unsigned_abs().into());
        let lost = TICK / 2;
        play.gone_after(2, "/a", since, timeout.saturating_sub(lost));
        play.closed(1);
    }
    play.close(2);
}

fn pinged(play: &mut Play<'_>) {
    play.connect(2, 20_000);
    play.connect(1, 800);
    play.create(1, "/a", Mode::Ephemeral);
    for _ in 0..15 {
        play.pass(Duration::from_millis(100));
        play.ask(1, &exists(""));
    }
    play.ask(2, &exists("/a"));
    play.close(1);
    play.close(2);
}

fn survives(play: &mut Play<'_>) {
    play.connect(2, 20_000);
    play.connect(1, 5_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.hang_up(1);
    play.pass(A_MOMENT);
    play.ask(2, &exists("/a"));
    let home = play.home();
    play.resume(1, home, 5_000);
    play.ask(1, &get("/a", false));
    play.close(1);
    play.ask(2, &Op::Sync);
    play.ask(2, &exists("/a"));
    play.close(2);
}

fn resumed_timeout(play: &mut Play<'_>) {
    play.connect(2, 20_000);
    play.connect(1, 1_500);
    play.create(1, "/a", Mode::Ephemeral);
    let home = play.home();
    play.pass(Duration::from_millis(700));
    play.resume(1, home, 1_500);
    let since = play.stage.now();
    play.hang_up(1);
    play.gone_after(2, "/a", since, Duration::from_millis(1_400));
    // A new timeout counts from then on.
    play.connect(1, 5_000);
    play.create(1, "/a", Mode::Ephemeral);
    // The follower reports the longer timeout to the leader once more, with the next ping.
    play.pass(TICK * 2);
    play.resume(1, home, 1_000);
    let since = play.stage.now();
    play.hang_up(1);
    play.ask(2, &Op::Sync);
    play.ask(2, &exists("/a"));
    play.gone_after(2, "/a", since, Duration::from_millis(900));
    play.close(2);
}

fn expired(play: &mut Play<'_>) {
    play.connect(2, 20_000);
    play.connect(1, 400);
    play.create(1, "/a", Mode::Ephemeral);
    play.hang_up(1);
    let since = play.stage.now();
    play.gone_after(2, "/a", since, Duration::from_millis(300));
    let home = play.home();
    play.resume(1, home, 400);
    play.close(2);
}

fn closed(play: &mut Play<'_>) {
    play.connect(1, 5_000);
    play.close(1);
    let home = play.home();
    play.resume(1, home, 5_000);
}

fn connection_of_expired(play: &mut Play<'_>) {
    play.connect(1, 400);
    play.closed(1);
}

fn second_connection(play: &mut Play<'_>) {
    play.connect(1, 5_000);
    play.ask(1, &get("", true));
    let home = play.home();
    play.resume_as(1, 2, home, 5_000);
    play.closed(1);
    play.create(2, "/a", Mode::Ephemeral);
    play.close(2);
}

fn close_ends_connection(play: &mut Play<'_>) {
    play.connect(1, 5_000);
    play.send(1, &create("/a", Mode::Ephemeral));
    play.send(1, &Op::Close);
    play.answer(1, "create");
    play.answer(1, "close");
    play.closed(1);
}

fn moves(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 5_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.resume(1, other, 5_000);
    play.ask(1, &Op::Sync);
    play.ask(1, &get("/a", false));
    play.ask(1, &set("/a", "x", -1));
    play.resume(1, one, 5_000);
    play.ask(1, &Op::Sync);
    play.ask(1, &get("/a", false));
    play.close(1);
}

fn moves_to_leader(play: &mut Play<'_>) {
    let (home, leader) = (play.home(), play.leader);
    play.connect_to(1, home, 5_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.resume(1, leader, 5_000);
    play.ask(1, &get("/a", false));
    play.ask(1, &set("/a", "x", -1));
    play.resume(1, home, 5_000);
    play.ask(1, &set("/a", "y", -1));
    play.ask(1, &get("/a", false));
    play.close(1);
}

fn session_moved(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 5_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.resume_as(1, 2, other, 5_000);
    // The old server answers reads by itself.
    play.ask(1, &exists("/a"));
    play.ask(1, &set("/a", "x", -1));
    play.ask(2, &set("/a", "y", -1));
    play.ask(2, &get("/a", false));
    play.close(2);
}

fn transaction_moved(play: &mut Play<'_>) {
    let (home, leader) = (play.home(), play.leader);
    play.connect_to(1, home, 5_000);
    play.create(1, "/a", Mode::Ephemeral);
    play.resume_as(1, 2, leader, 5_000);
    play.ask(1, &Op::Multi(vec![check("/a", -1)]));
    play.ask(2, &Op::Multi(vec![check("/a", -1)]));
    play.close(2);
}

fn expiry_everywhere(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(2, other, 20_000);
    play.connect_to(1, one, 600);
    play.create(1, "/a", Mode::Ephemeral);
    play.ask(2, &Op::Sync);
    play.ask(2, &get("/a", true));
    play.event(2);
    play.resume(1, other, 600);
    let leader = play.leader;
    play.resume(1, leader, 600);
    play.close(2);
}

fn expiry_at_leader(play: &mut Play<'_>) {
    let leader = play.leader;
    play.connect_to(2, leader, 20_000);
    play.connect_to(1, leader, 800);
    play.create(1, "/a", Mode::Ephemeral);
    let since = play.stage.now();
    play.gone_after(2, "/a", since, Duration::from_millis(790));
    play.closed(1);
    play.close(2);
}

fn synced(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 5_000);
    play.connect_to(2, other, 5_000);
    for number in 0..5 {
        play.create(1, &format!("/n{number}"), Mode::Persistent);
        play.send(2, &Op::Sync);
        play.send(2, &list("", false));
        play.answer(2, "sync");
        play.answer(2, "list");
    }
    play.close(1);
    play.close(2);
}

fn lags(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 10_000);
    play.connect_to(2, other, 10_000);
    play.create(1, "/a", Mode::Persistent);
    play.ask(2, &Op::Sync);
    let leader = play.leader;
    play.stage.delay_follower(leader, other, Duration::from_millis(500));
    play.ask(1, &set("/a", "new", -1));
    play.ask(2, &get("/a", false));
    play.ask(2, &Op::Sync);
    play.ask(2, &get("/a", false));
    play.ask(2, &set("/a", "newer", -1));
    play.ask(1, &get("/a", false));
    play.stage.delay_follower(leader, other, Duration::ZERO);
    play.close(1);
    play.close(2);
}

fn closed_elsewhere(play: &mut Play<'_>) {
    let [one, other] = play.followers()[..] else { panic!("three servers") };
    play.connect_to(1, one, 5_000);
    play.resume_as(1, 2, other, 5_000);
    play.close(2);
    play.closed(1);
    play.resume(1, one, 5_000);
}
