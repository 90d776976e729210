//! The log of injected faults, for the report and for the check of exits.

use crate::fault::Reach;
use crate::support::Fault;
use crate::support::clock;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// After a fault, servers elect, catch up and expire sessions: the fault can still be the cause for this long.
const AFTERMATH: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct FaultLog {
    entries: Mutex<Vec<Entry>>,
}

struct Entry {
    from: Duration,
    to: Duration,
    fault: Fault,
    reach: Reach,
    target: String,
}

impl Entry {
    fn affects(&self, host: usize) -> bool {
        self.reach.ensemble || self.reach.hosts.contains(&host)
    }
}

impl FaultLog {
    pub(crate) fn add(&self, fault: Fault, duration: Duration, reach: Reach, target: &str) {
        let from = clock::now();
        let (to, target) = (from + duration, target.to_owned());
        self.entries().push(Entry { from, to, fault, reach, target });
    }

    /// The faults of servers and network that may have affected a contender on this host in this time, the newest last.
    pub(crate) fn affecting(&self, host: usize, from: Duration, to: Duration) -> Vec<Fault> {
        let entries = self.entries();
        let met = entries.iter().filter(|entry| entry.from <= to && from <= entry.to + AFTERMATH);
        met.filter(|entry| entry.affects(host)).map(|entry| entry.fault).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.entries().len()
    }

    /// The newest faults, with the times of the history.
    pub(crate) fn last(&self, count: usize) -> String {
        let entries = self.entries();
        let mut text = String::new();
        for entry in &entries[entries.len().saturating_sub(count)..] {
            let (from, to) = (entry.from.as_millis(), entry.to.as_millis());
            writeln!(text, "  {from} to {to}: {}, {}", entry.fault, entry.target).expect("a string");
        }
        text
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
