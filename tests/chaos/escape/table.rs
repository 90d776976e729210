//! The summary of all runs.

use super::trial::{Phase, Report};
use crate::support::Fault;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub(crate) struct Table(BTreeMap<Fault, Row>);

#[derive(Default)]
struct Row {
    runs: usize,
    missed: usize,
    phases: BTreeMap<Phase, usize>,
    /// In how many runs each kind of process escaped.
    escaped: BTreeMap<String, usize>,
    escapes: usize,
    wrong: usize,
    ends: BTreeMap<String, usize>,
    /// Only from the runs whose fault came while the command ran.
    last_beats: Vec<Duration>,
    next_beats: Vec<Duration>,
}

impl Table {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        Self(faults.iter().map(|&fault| (fault, Row::default())).collect())
    }

    /// Counts a fault that hit nothing.
    pub(crate) fn missed(&mut self, fault: Fault) {
        self.0.entry(fault).or_default().missed += 1;
    }

    /// Adds a run. Returns how many runs with this fault were wrong.
    pub(crate) fn take(&mut self, fault: Fault, report: Report) -> usize {
        let row = self.0.entry(fault).or_default();
        row.runs += 1;
        row.wrong += usize::from(!report.wrong.is_empty());
        row.escapes += usize::from(!report.escaped.is_empty());
        *row.phases.entry(report.phase).or_default() += 1;
        *row.ends.entry(report.end).or_default() += 1;
        for kind in report.escaped {
            *row.escaped.entry(kind).or_default() += 1;
        }
        if report.phase == Phase::While {
            row.last_beats.extend(report.last_beat);
            row.next_beats.extend(report.next_beat);
        }
        row.wrong
    }

    /// How many runs were wrong.
    pub(crate) fn wrong(&self) -> usize {
        self.0.values().map(|row| row.wrong).sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:13} {:>4} {:>6} {:>6} {:>5} {:>5} {:>7} {:>5}  {:>19}  {:>19}  exits (times)",
            "",
            "runs",
            "missed",
            "before",
            "while",
            "after",
            "escapes",
            "wrong",
            "last beat med/max",
            "next beat med/max"
        )?;
        for (fault, row) in &self.0 {
            let phase = |phase| row.phases.get(&phase).copied().unwrap_or_default();
            let [before, during, after] = [Phase::Before, Phase::While, Phase::After].map(phase);
            let (last, next) = (spread(&row.last_beats), spread(&row.next_beats));
            let (runs, missed, escapes, wrong) = (row.runs, row.missed, row.escapes, row.wrong);
            writeln!(
                f,
                "{fault:13} {runs:>4} {missed:>6} {before:>6} {during:>5} {after:>5} {escapes:>7} {wrong:>5}  \
                 {last:>19}  {next:>19}  {}",
                counts(&row.ends)
            )?;
            if !row.escaped.is_empty() {
                writeln!(f, "{:13} escaped: {}", "", counts(&row.escaped))?;
            }
        }
        write!(f, "(beats: milliseconds after the fault, of the runs whose fault came while the command ran)")
    }
}

fn counts(of: &BTreeMap<String, usize>) -> String {
    let counts: Vec<_> = of.iter().map(|(what, count)| format!("{what} ({count})")).collect();
    counts.join(", ")
}

fn spread(spans: &[Duration]) -> String {
    let mut millis: Vec<_> = spans.iter().map(|span| span.as_secs_f64() * 1000.0).collect();
    millis.sort_by(f64::total_cmp);
    match (millis.get(millis.len() / 2), millis.last()) {
        (Some(median), Some(max)) => format!("{median:.1} / {max:.1}"),
        _ => String::new(),
    }
}
