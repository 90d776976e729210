//! What must be true once everything is healed.

use crate::arena::Arena;
use crate::job::Job;
use crate::support::{Observer, processes_of};
use crate::wish::{LOCK, OTHER_LOCK, Patience, Wish};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Whoever is in the queue at the end has to come through it.
const DRAIN: Duration = Duration::from_mins(2);
/// A fresh contender's time after all is healed: a few session timeouts of two seconds.
const FRESH: Duration = Duration::from_secs(10);
const AFTERWARDS: Duration = Duration::from_secs(6);

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
    let job = Job { name: "fresh".to_owned(), lasts: Duration::from_millis(50), deaf: false, forks: false };
    let (host, patience) = (0, Patience::Endless);
    let fresh = Instant::now();
    arena.contend(Wish { host, locks: &[LOCK], patience, session: 2, kill_after: None, job });
    if fresh.elapsed() > FRESH || !arena.watch.seen("fresh").ended {
        return Some(format!("a fresh contender took {:?}", fresh.elapsed()));
    }
    let nodes = || [LOCK, OTHER_LOCK].iter().flat_map(|lock| observer.children(lock)).collect::<Vec<_>>();
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
