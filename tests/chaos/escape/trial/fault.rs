//! The fault that hits the first zklock, and its time.

use super::history::{FIRST, History};
use super::run::{Environment, Target};
use crate::support::{Fault, Proxy, Rng, first_child};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;

/// Causes the fault. Returns `None` if its target no longer exists, or doesn't exist yet.
pub(super) fn inject(fault: Fault, environment: &Environment<'_>, target: &Target<'_>) -> Option<Undo> {
    match fault {
        Fault::DeleteNode => delete_node(environment, target).then_some(Undo::Nothing),
        Fault::Blackhole => {
            target.link?.blackhole();
            Some(Undo::Pass)
        }
        _ => {
            let hit = fault.signal(target.monitor, first_child(target.monitor), target.path);
            let &one = hit.first()?;
            Some(if fault.stops_a_process() { Undo::Continue(one) } else { Undo::Nothing })
        }
    }
}

/// Whether it takes effect only when the lease is nearly over.
fn is_slow(fault: Fault) -> bool {
    matches!(fault, Fault::StopWorker | Fault::Blackhole)
}

/// How the fault is undone when the next contender has its turn.
#[derive(Clone, Copy)]
pub(super) enum Undo {
    Nothing,
    Continue(Pid),
    Pass,
}

impl Undo {
    pub(super) fn undo(self, link: Option<&Proxy>) {
        match self {
            Self::Nothing => {}
            // The process may be dead.
            Self::Continue(pid) => drop(kill(pid, Signal::SIGCONT)),
            Self::Pass => link.into_iter().for_each(Proxy::pass),
        }
    }
}

/// Deletes the first zklock's own node, whatever its position. The data of a node names its owner.
fn delete_node(environment: &Environment<'_>, target: &Target<'_>) -> bool {
    let nodes = environment.observer.children(target.path);
    let own = nodes.iter().map(|node| format!("{}/{node}", target.path)).find(|node| {
        let record = environment.observer.data(node).and_then(|data| serde_json::from_str(&data).ok());
        record.is_some_and(|record: serde_json::Value| {
            record["pid"].as_i64() == Some(target.monitor.as_raw().into())
        })
    });
    own.is_some_and(|own| {
        environment.observer.call("delete", move |client| client.delete(&own, None)).is_ok()
    })
}

/// A moment: this long after an event.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Spawn(Duration),
    Begin(Duration),
    End(Duration),
}

/// The plan of a trial, drawn at random.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    moment: Moment,
    /// How long the command runs if nothing interrupts it.
    pub(super) lasts: Duration,
    /// Which processes ignore TERM: none, all but the leader, or all.
    pub(super) deaf: u64,
}

impl Plan {
    /// A fifth of the faults hits the start and a fifth the end, because both are short.
    pub(super) fn draw(fault: Fault, rng: &mut Rng) -> Self {
        let mut micros = |from: u64, to: u64| Duration::from_micros(from + rng.next() % (to - from));
        let brief = micros(100_000, 300_000);
        let (moment, lasts) = match micros(0, 10).subsec_micros() {
            0 | 1 => (Moment::Spawn(micros(0, 90_000)), brief),
            2 => (Moment::Begin(brief.saturating_sub(micros(0, 4_000)) + micros(0, 12_000)), brief),
            3 => (Moment::End(micros(0, 8_000)), brief),
            _ if is_slow(fault) || matches!(fault, Fault::DeleteNode | Fault::KillBoth) => {
                (Moment::Begin(micros(0, 400_000)), Duration::from_secs(6))
            }
            _ => (Moment::Begin(micros(0, 400_000)), Duration::from_millis(400)),
        };
        Self { moment, lasts, deaf: rng.below(3) }
    }

    /// When the fault is due, if that is known yet.
    pub(super) fn due(&self, spawned: Duration, history: &History) -> Option<Duration> {
        match self.moment {
            Moment::Spawn(after) => Some(spawned + after),
            Moment::Begin(after) => history.time_of(FIRST, "begin").map(|begin| begin + after),
            Moment::End(after) => history.time_of(FIRST, "end").map(|end| end + after),
        }
    }
}
