//! The checks at the end of a run, after all faults are healed.

use crate::harness::Harness;
use crate::invocation::{Invocation, Kind, LOCK, LOCKS, Wait};
use crate::job::{Deaf, Job};
use crate::processes::of_run;
use crate::support::{Observer, clock};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// The time for all queued contenders to finish.
const DRAIN: Duration = Duration::from_mins(2);
/// The time for the next contender to run after healing: servers elect a leader, and the node of a killed host may remain
/// for its session's ten seconds and a tick and a half.
const FRESH: Duration = Duration::from_secs(20);
/// On a busy machine that election alone takes some ten seconds.
const FRESH_IF_BUSY: Duration = Duration::from_secs(40);
const CLEAN_UP: Duration = Duration::from_secs(15);

/// Every contender ends, a new contender gets the lock, and no node or process is left.
pub(crate) fn check_after_healing(harness: &Harness, observer: &Observer) -> Option<String> {
    harness.stop.store(true, Ordering::SeqCst);
    harness.history.at_end(|checker| checker.healed(clock::now()));
    let running =
        || harness.running().iter().map(|contender| contender.name().to_owned()).collect::<Vec<_>>();
    wait_until_done(DRAIN, || running().is_empty() || harness.violation().is_some());
    if let Some(violation) = harness.violation() {
        return Some(violation);
    }
    if !running().is_empty() {
        let messages: Vec<_> = harness.running().iter().map(|contender| contender.stderr()).collect();
        return Some(format!(
            "still running {DRAIN:?} after all faults were healed: {:?}\n{}",
            running(),
            messages.join("\n")
        ));
    }
    let pause = harness.history.at_end(|checker| checker.numbers.longest_pause_since_healing);
    let fresh = fresh();
    if pause > fresh {
        return Some(format!("a queue stood still for {pause:?} after all faults were healed"));
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
    if new_contender.elapsed() > fresh || !harness.seen("new_contender").ended {
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

fn fresh() -> Duration {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|one| one.parse().ok()).unwrap_or_default();
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if load > f64::from(u32::try_from(processors).unwrap_or(u32::MAX)) * 3.0 { FRESH_IF_BUSY } else { FRESH }
}

fn wait_until_done(within: Duration, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + within;
    while !done() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
}
