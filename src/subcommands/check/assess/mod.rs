//! Draws findings from the facts, each with its remedy, and decides whether the set-up is ready for locks. Pure.

mod lock;
mod servers;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Serialize;
use zklock_core::lease::latency;

use super::facts::{Facts, OldRecord};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// No problem.
    Ok,
    /// A problem that doesn't prevent locks.
    Warn,
    /// No lock can be taken.
    Fail,
}

impl Severity {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// A line of the report. The fields but the level are those of `check --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    #[serde(skip)]
    pub(super) level: Severity,
    /// The subject, in a word or two.
    pub(super) about: String,
    /// The finding itself.
    pub(super) what: String,
    /// The remedy; `None` if `what` says it, or none is needed.
    pub(super) remedy: Option<String>,
}

impl Finding {
    fn new(level: Severity, about: impl Into<String>, what: impl Into<String>) -> Self {
        Self { level, about: about.into(), what: what.into(), remedy: None }
    }

    fn ok(about: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Severity::Ok, about, what)
    }

    fn warn(about: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Severity::Warn, about, what)
    }

    fn fail(about: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Severity::Fail, about, what)
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Whether the set-up is ready for locks: the field `verdict` of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fitness {
    Fit,
    Warnings,
    Unfit,
}

impl Fitness {
    /// Decided by the worst finding.
    pub(super) fn of(findings: &[Finding]) -> Self {
        let has = |level| findings.iter().any(|finding| finding.level == level);
        match (has(Severity::Fail), has(Severity::Warn)) {
            (true, _) => Self::Unfit,
            (false, true) => Self::Warnings,
            (false, false) => Self::Fit,
        }
    }
}

/// All findings, in the order of the report.
pub(super) fn assess(facts: &Facts) -> Vec<Finding> {
    let mut findings = servers::servers(facts);
    findings.extend(servers::versions(facts));
    findings.extend(servers::certificates(facts));
    findings.extend(servers::session(facts));
    findings.extend(servers::latency(facts));
    findings.extend(lock::chroot(facts));
    findings.extend(lock::permissions(facts));
    findings.extend(lock::queue(facts));
    findings.extend(lock::stale_records(facts));
    findings.extend(servers::clock(facts));
    findings
}

/// Whether the connection is fast enough for the session timeout; `None` without a session.
pub(super) fn is_quick_enough(facts: &Facts) -> Option<bool> {
    let (granted, trip) = (*facts.session.as_ref().ok()?, facts.trip()?);
    Some(latency::is_quick_enough(granted, trip, facts.kill_after))
}

/// The smallest session timeout that this connection is fast enough for, if there is one.
pub(super) fn smallest_timeout(facts: &Facts) -> Option<Duration> {
    latency::smallest_timeout(facts.trip()?, facts.kill_after)
}

/// A lock whose last success is older than this may be unused.
const STALE: Duration = Duration::from_hours(30 * 24);

/// Whether the record is so old that its lock may be unused.
pub(super) fn is_stale(record: &OldRecord) -> bool {
    record.age > STALE
}
