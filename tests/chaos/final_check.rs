//! The checks at the end of a run, after all faults are healed.

use crate::harness::Harness;
use crate::invocation::{Invocation, Kind, LOCK, LOCKS, Wait};
use crate::job::{Deaf, Job};
use crate::processes::of_run;
use crate::support::Observer;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// The longest time, after all faults are healed, in which no contender begins or ends its command or exits: servers elect
/// a leader, which takes up to ten seconds, and the node of a killed host may remain for its session's
/// ten seconds and a tick and a half.
const LONGEST_PAUSE: Duration = Duration::from_secs(40);
const CLEAN_UP: Duration = Duration::from_secs(15);

/// Every contender ends, a new contender gets the lock, and no node or process is left.
pub(crate) fn check_after_healing(harness: &Harness, observer: &Observer) -> Option<String> {
    harness.stop.store(true, Ordering::SeqCst);
    let progress = || (harness.running().len(), harness.history.at_end(|checker| checker.sections().len()));
    let mut last = (progress(), Instant::now());
    while last.0.0 > 0 && harness.violation().is_none() {
        if last.1.elapsed() > LONGEST_PAUSE {
            let messages: Vec<_> = harness.running().iter().map(|contender| contender.stderr()).collect();
            return Some(format!(
                "a queue stands still after all faults were healed\n{}",
                messages.join("\n")
            ));
        }
        thread::sleep(Duration::from_millis(20));
        let now = progress();
        if now != last.0 {
            last = (now, Instant::now());
        }
    }
    if let Some(violation) = harness.violation() {
        return Some(violation);
    }
    let job = Job {
        name: "new_contender".to_owned(),
        duration: Duration::from_millis(50),
        deaf: Deaf::None,
        descendants: vec![],
    };
    let new_contender = Instant::now();
    harness.run_contender(Invocation {
        host: 0,
        locks: &[LOCK],
        kind: Kind::Exclusive,
        wait_limit: Wait::Unlimited,
        session: Duration::from_secs(2),
        kill_after: None,
        unread: false,
        job,
    });
    if new_contender.elapsed() > LONGEST_PAUSE || !harness.has_ended("new_contender") {
        return Some(format!("a new contender took {:?}", new_contender.elapsed()));
    }
    let nodes = || LOCKS.iter().flat_map(|lock| observer.children(lock)).collect::<Vec<_>>();
    let left = || of_run(&harness.place);
    wait_until_done(CLEAN_UP, || nodes().is_empty() && left().is_empty());
    match (nodes(), left()) {
        (nodes, left) if nodes.is_empty() && left.is_empty() => harness.violation(),
        (nodes, left) => {
            let status = |(pid, _): &(_, _)| std::fs::read_to_string(format!("/proc/{pid}/status"));
            let shown: Vec<_> = left.iter().flat_map(status).collect();
            Some(format!("left behind: nodes {nodes:?}, processes {left:?}\n{}", shown.join("\n")))
        }
    }
}

fn wait_until_done(within: Duration, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + within;
    while !done() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
}
