//! Requests of two clients, drawn from a seed.

use std::time::Duration;

use super::Scene;
use super::play::{Play, check, create as create_node, delete, exists, get, list, set};
use crate::ensemble::wire::{Mode, Op};
use crate::support::Rng;

/// What no sequence has: containers, which the servers remove at a time that nobody knows.
pub(super) const SCENES: &[Scene] = &[
    ("a_container_goes_when_its_last_child_has_gone", container),
    ("a_container_that_was_never_used_stays", unused_container),
];

/// The nodes that are read, written and deleted.
const PATHS: [&str; 6] = ["/a", "/a/b", "/a/b/c", "/a/0000000001", "/k", "/k/b"];

/// The length of a sequence.
const ACTS: usize = 120;

const TIMEOUT_MS: i32 = 60_000;

/// What one client does.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Requests that are sent at once.
    Ask(Vec<Op>),
    /// The session is closed, and a new one is opened.
    Close,
    HangUp,
    /// The session gets a new connection.
    Resume,
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize].clone()
}

/// Draws a sequence: which client does what.
pub(super) fn draw(seed: u64) -> Vec<(usize, Act)> {
    let rng = &mut Rng::new(seed);
    let parents = ["/a", "/k"].map(|path| create_node(path, Mode::Persistent));
    let mut acts = vec![(1, Act::Ask(parents.to_vec()))];
    while acts.len() < ACTS {
        let who = pick(rng, &[1, 2]);
        match rng.below(16) {
            0 => acts.push((who, Act::Close)),
            1 | 2 => {
                acts.push((who, Act::HangUp));
                acts.extend((0..rng.below(4)).map(|_| (3 - who, ask(rng))));
                acts.push((who, Act::Resume));
            }
            _ => acts.push((who, ask(rng))),
        }
    }
    acts
}

fn ask(rng: &mut Rng) -> Act {
    Act::Ask((0..=rng.below(3)).map(|_| if rng.below(8) < 3 { write(rng) } else { read(rng) }).collect())
}

fn read(rng: &mut Rng) -> Op {
    let path = if rng.below(8) == 0 { "" } else { pick(rng, &PATHS) };
    let watch = rng.below(2) == 0;
    pick(rng, &[exists(path), get(path, watch), list(path, watch)])
}

fn write(rng: &mut Rng) -> Op {
    let (path, version) = (pick(rng, &PATHS), pick(rng, &[-1, -1, -1, -1, 0, 1]));
    match rng.below(10) {
        0..4 => create(rng, path),
        4..6 => delete(path, version),
        6 => set(path, pick(rng, &["", "one", "longer"]), version),
        _ => Op::Multi((0..2 + rng.below(3)).map(|_| part(rng)).collect()),
    }
}

/// An operation of a transaction.
fn part(rng: &mut Rng) -> Op {
    match write(rng) {
        Op::Multi(_) => check(pick(rng, &PATHS), pick(rng, &[-1, -1, -1, 0, 1])),
        other => other,
    }
}

fn create(rng: &mut Rng, path: &str) -> Op {
    let modes =
        [Mode::EphemeralSequential, Mode::Persistent, Mode::Persistent, Mode::Ephemeral, Mode::Ephemeral];
    let mode = pick(rng, &modes);
    let path = match path.rfind('/') {
        // The name is nothing but its number.
        Some(slash) if mode == Mode::EphemeralSequential => &path[..=slash],
        _ => path,
    };
    create_node(path, mode)
}

/// Plays a sequence. If there are several servers, the clients are at different ones, the second at the leader in half of
/// the sequences. They hear of each other's changes after each step. The nodes of a session that is closed vanish in any
/// order, so what is heard then is sorted.
pub(super) fn play(seed: u64, acts: &[(usize, Act)], play: &mut Play<'_>) {
    let other = play.followers().last().copied().filter(|_| seed.is_multiple_of(2)).unwrap_or(play.leader);
    let servers = [play.leader, play.home(), other];
    let mut is_here = [false, true, true];
    for who in [1, 2] {
        play.connect_to(who, servers[who], TIMEOUT_MS);
    }
    for (who, act) in acts {
        let (who, begin) = (*who, play.trace.len());
        match act {
            Act::Resume => {
                play.resume(who, servers[who], TIMEOUT_MS);
                is_here[who] = true;
            }
            _ if !is_here[who] => continue,
            Act::Ask(ops) => {
                for op in ops {
                    play.send(who, op);
                }
                for op in ops {
                    play.answer(who, &format!("{op:?}"));
                }
            }
            Act::Close => {
                play.close(who);
                play.connect_to(who, servers[who], TIMEOUT_MS);
            }
            Act::HangUp => {
                play.hang_up(who);
                is_here[who] = false;
            }
        }
        (1..=2).filter(|who| is_here[*who]).for_each(|who| drop(play.ask(who, &Op::Sync)));
        if matches!(act, Act::Close) {
            play.trace[begin..].sort();
        }
    }
    play.connect(3, TIMEOUT_MS);
    play.ask(3, &Op::Sync);
    for path in [""].into_iter().chain(PATHS) {
        play.ask(3, &get(path, false));
        play.ask(3, &list(path, false));
    }
    let begin = play.trace.len();
    (1..=3).filter(|who| *who == 3 || is_here[*who]).for_each(|who| play.close(who));
    play.trace[begin..].sort();
}

fn container(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Container);
    play.create(1, "/a/b", Mode::Ephemeral);
    play.ask(1, &get("/a", true));
    play.ask(1, &delete("/a/b", -1));
    play.event(1);
    play.ask(1, &exists("/a"));
    play.close(1);
}

fn unused_container(play: &mut Play<'_>) {
    play.connect(1, 10_000);
    play.create(1, "/a", Mode::Container);
    play.create(1, "/b", Mode::Container);
    play.create(1, "/b/c", Mode::Container);
    play.pass(Duration::from_millis(1_200));
    play.ask(1, &list("", false));
    play.ask(1, &exists("/b"));
    play.close(1);
}
