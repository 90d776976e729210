//! The JSON of `check --json`, specified in `docs/check.md`. `VERSION` changes if the meaning of a field does.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use zklock_core::lease::latency::silence_ridden_out;

use super::assess::{Finding, Fitness, Severity, is_quick_enough, is_stale, smallest_timeout};
use super::facts::{ChrootState, Facts, OldRecord};
use crate::ensemble::ServerReport;

const VERSION: u32 = 1;

/// Every field is always present; an unknown value is null.
#[derive(Serialize)]
struct CheckDocument<'a> {
    version: u32,
    verdict: Fitness,
    servers: Vec<ServerEntry<'a>>,
    session: Option<SessionEntry>,
    lease: Option<LeaseEntry>,
    chroot: Option<ChrootEntry<'a>>,
    permissions: Option<PermissionsEntry<'a>>,
    credentials: &'a [String],
    client_certificate_ends: Option<String>,
    clock_ahead_ms: Option<i64>,
    stale_records: Vec<&'a OldRecord>,
    warnings: Vec<&'a Finding>,
    failures: Vec<&'a Finding>,
}

#[derive(Serialize)]
struct ServerEntry<'a> {
    server: &'a str,
    address: Option<String>,
    reached: bool,
    error: Option<&'a str>,
    version: Option<&'a str>,
    role: Option<&'a str>,
    tls: Option<bool>,
    certificate_ends: Option<String>,
}

#[derive(Serialize)]
struct SessionEntry {
    asked: f64,
    granted: f64,
    round_trip_ms: Option<f64>,
    median_round_trip_ms: Option<f64>,
}

#[derive(Serialize)]
struct LeaseEntry {
    quick_enough: Option<bool>,
    rides_out: f64,
    smallest_session_timeout: Option<u64>,
}

#[derive(Serialize)]
struct ChrootEntry<'a> {
    path: &'a str,
    exists: Option<bool>,
}

#[derive(Serialize)]
struct PermissionsEntry<'a> {
    path: &'a str,
    node: &'a str,
    create: bool,
    read: Option<bool>,
    delete: Option<bool>,
}

/// The document, on several lines.
pub(super) fn text(facts: &Facts, findings: &[Finding]) -> Result<String> {
    let of = |level| findings.iter().filter(|finding| finding.level == level).collect();
    let document = CheckDocument {
        version: VERSION,
        verdict: Fitness::of(findings),
        servers: facts.servers.iter().map(|server| self::server(server, facts.tls)).collect(),
        session: session(facts),
        lease: lease(facts),
        chroot: chroot(facts),
        permissions: permissions(facts),
        credentials: &facts.credentials,
        client_certificate_ends: facts.own_certificate_ends.and_then(date),
        clock_ahead_ms: facts.clock_ahead(),
        stale_records: facts.records.iter().filter(|record| is_stale(record)).collect(),
        warnings: of(Severity::Warn),
        failures: of(Severity::Fail),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn server(server: &ServerReport, tls: bool) -> ServerEntry<'_> {
    let info = server.info.as_ref().ok();
    ServerEntry {
        server: &server.server,
        address: server.address.map(|address| address.to_string()),
        reached: info.is_some(),
        error: server.info.as_ref().err().map(String::as_str),
        version: info.and_then(|info| info.version.as_deref()),
        role: info.and_then(|info| info.role.as_deref()),
        tls: info.map(|_| tls),
        certificate_ends: info.and_then(|info| info.certificate_ends).and_then(date),
    }
}

fn session(facts: &Facts) -> Option<SessionEntry> {
    let granted = facts.session.as_ref().ok()?.as_secs_f64();
    Some(SessionEntry {
        asked: facts.asked.as_secs_f64(),
        granted,
        round_trip_ms: facts.trip().map(millis),
        median_round_trip_ms: facts.median_trip().map(millis),
    })
}

fn lease(facts: &Facts) -> Option<LeaseEntry> {
    let (granted, trip) = (*facts.session.as_ref().ok()?, facts.trip()?);
    Some(LeaseEntry {
        quick_enough: is_quick_enough(facts),
        rides_out: silence_ridden_out(granted, trip).as_secs_f64(),
        smallest_session_timeout: smallest_timeout(facts).map(|enough| enough.as_secs()),
    })
}

fn chroot(facts: &Facts) -> Option<ChrootEntry<'_>> {
    let chroot = facts.chroot.as_ref()?;
    let exists = (chroot.state != ChrootState::Unknown).then(|| chroot.exists());
    Some(ChrootEntry { path: &chroot.path, exists })
}

fn permissions(facts: &Facts) -> Option<PermissionsEntry<'_>> {
    let (path, probe) = facts.path.as_ref().zip(facts.probe.as_ref())?;
    Some(PermissionsEntry {
        path,
        node: &probe.parent,
        create: probe.create.is_ok(),
        read: probe.read.as_ref().map(Result::is_ok),
        delete: probe.delete.as_ref().map(Result::is_ok),
    })
}

/// Milliseconds, rounded to the microsecond.
fn millis(time: Duration) -> f64 {
    f64::from(u32::try_from(time.as_micros()).unwrap_or(u32::MAX)) / 1_000.0
}

/// A time in seconds since 1970 as RFC 3339.
pub(super) fn date(seconds: u64) -> Option<String> {
    let time = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(time.to_string())
}
