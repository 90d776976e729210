//! What must be true once everything is healed.

use crate::arena::Arena;
use crate::job::{Family, Job};
use crate::support::{Observer, processes_of};
use crate::wish::{Kind, LOCK, LOCKS, Patience, Wish};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Whoever is in the queue at the end has to come through it.
const DRAIN: Duration = Duration::from_mins(2);
/// A fresh contender's time after all is healed: somebody's node may still be there whose host died, for its session's
/// ten seconds and a tick.
const FRESH: Duration = Duration::from_secs(20);
const AFTERWARDS: Duration = Duration::from_secs(15);

/// After everything is healed: everybody comes to an end, somebody new gets the lock, and nothing is left.
pub(crate) fn calm_down(arena: &Arena, observer: &Observer) -> Option<String> {
    arena.stop.store(true, Ordering::SeqCst);
    let living = || arena.living().iter().map(|contender| contender.name().to_owned()).collect::<Vec<_>>();
    await_it(DRAIN, || living().is_empty() || arena.wrong().is_some());
    if let Some(wrong) = arena.wrong() {
        return Some(wrong);
    }
    if !living().is_empty() {
        let words: Vec<_> = arena.living().iter().map(|contender| contender.stderr()).collect();
        return Some(format!(
            "still there {DRAIN:?} after all was healed: {:?}\n{}",
            living(),
            words.join("\n")
        ));
    }
    let job = Job {
        name: "fresh".to_owned(),
        lasts: Duration::from_millis(50),
        deaf: false,
        family: Family::Alone,
    };
    let fresh = Instant::now();
    arena.contend(Wish {
        host: 0,
        locks: &[LOCK],
        kind: Kind::Exclusive,
        patience: Patience::Endless,
        session: Duration::from_secs(2),
        kill_after: None,
        unread: false,
        job,
    });
    if fresh.elapsed() > FRESH || !arena.watch.seen("fresh").ended {
        return Some(format!("a fresh contender took {:?}", fresh.elapsed()));
    }
    let nodes = || LOCKS.iter().flat_map(|lock| observer.children(lock)).collect::<Vec<_>>();
    let left = || processes_of(&arena.place.marker);
    await_it(AFTERWARDS, || nodes().is_empty() && left().is_empty());
    match (nodes(), left()) {
        (nodes, left) if nodes.is_empty() && left.is_empty() => arena.wrong(),
        (nodes, left) => Some(format!("left behind: nodes {nodes:?}, processes {left:?}")),
    }
}

fn await_it(within: Duration, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + within;
    while !done() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
}
