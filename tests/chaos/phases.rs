//! What contenders were doing while a fault of the network or the servers was active.

use crate::fault_log::FaultLog;
use crate::support::Fault;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// A contender connects and creates its node within this time, if nothing disturbs it.
const START: Duration = Duration::from_millis(100);

/// The times of a contender.
pub(crate) struct Life {
    pub(crate) host: usize,
    pub(crate) started: Duration,
    /// The first and the last sign of life of its command.
    pub(crate) command: Option<(Duration, Duration)>,
    pub(crate) exited: Duration,
}

/// For each fault the number of contenders that it met in each phase.
#[derive(Default)]
pub(crate) struct Phases(BTreeMap<Fault, [usize; 4]>);

impl Phases {
    pub(crate) fn add(&mut self, life: &Life, faults: &FaultLog) {
        let queueing = (life.started + START).min(life.exited);
        let (began, ended) = life.command.unwrap_or((life.exited, life.exited));
        let bounds = [life.started, queueing, began.max(queueing), ended.max(queueing), life.exited];
        for (phase, span) in bounds.windows(2).enumerate().filter(|(_, span)| span[0] < span[1]) {
            for fault in faults.active(life.host, &(span[0]..span[1])) {
                self.0.entry(fault).or_default()[phase] += 1;
            }
        }
    }

    pub(crate) fn table(&self) -> String {
        let mut text = String::from("fault               start   queue  command     end\n");
        for (fault, [start, queue, command, end]) in &self.0 {
            writeln!(text, "{fault:<17} {start:>7} {queue:>7} {command:>8} {end:>7}").expect("a string");
        }
        text
    }
}
