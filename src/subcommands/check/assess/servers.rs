//! Findings about the servers: their versions and certificates, the session, the connection's speed, and the clock.

use std::time::Duration;

use zklock_core::duration;
use zklock_core::lease::latency::silence_ridden_out;
use zklock_core::text;

use super::super::facts::{Facts, SessionError};
use super::super::json::date;
use super::{Finding, is_quick_enough, smallest_timeout};
use crate::ensemble::{ServerInfo, ServerReport};

/// A greater difference between the clocks, in milliseconds, is a warning.
const MOST_APART: u64 = 5_000;

/// The oldest version with the requests that a lock needs.
const OLDEST: Version = (3, 5, 0);

const UPGRADE: &str = "upgrade to 3.9.4 or later, or to 3.8.5 or a later 3.8";

type Version = (u32, u32, u32);

const DAY: i64 = 24 * 60 * 60;

/// A certificate that ends in fewer days than this is a warning.
const SOON: i64 = 14;

/// Whether each address of each server can be reached.
pub(super) fn servers(facts: &Facts) -> Vec<Finding> {
    facts.servers.iter().map(|server| self::server(facts, server)).collect()
}

fn server(facts: &Facts, report: &ServerReport) -> Finding {
    let ServerReport { server, address, info } = report;
    let address = address.map(|address| address.to_string());
    // The address isn't repeated if the connect string has it.
    let address = address.filter(|address| !server.starts_with(&format!("{address}:")));
    let address = address.filter(|address| !server.starts_with(&format!("[{address}]:")));
    let about = match address {
        Some(address) => format!("server {server} ({address})"),
        None => format!("server {server}"),
    };
    match info {
        Ok(info) => {
            let version = match &info.version {
                Some(version) => format!("ZooKeeper {version}"),
                None => {
                    "a ZooKeeper, version and role not told (srvr isn't in 4lw.commands.whitelist)".to_owned()
                }
            };
            let tls = facts.tls.then(|| "TLS".to_owned());
            let parts = [Some(version), info.role.clone(), tls];
            Finding::ok(about, parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        // The other servers are enough for a session.
        Err(error) if facts.session.is_ok() => Finding::warn(about, error),
        Err(error) => Finding::fail(about, error),
    }
}

/// One warning for each version that is a risk, however many servers run it.
pub(super) fn versions(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![];
    for info in facts.servers.iter().filter_map(|server| server.info.as_ref().ok()) {
        if let Some(finding) = risk(info)
            && !findings.contains(&finding)
        {
            findings.push(finding);
        }
    }
    findings
}

pub(super) fn risk(info: &ServerInfo) -> Option<Finding> {
    let said = info.version.as_deref()?;
    let version = numbers(said)?;
    let warn = |what: String| Finding::warn(format!("version {said}"), what).remedy(UPGRADE);
    if version < OLDEST {
        return Some(warn("has no locks for zklock, which needs 3.5 or newer".to_owned()));
    }
    // A standalone server takes part in no election.
    let elects = matches!(info.role.as_deref(), Some("leader" | "follower" | "observer"));
    let issue = forgets(version).filter(|_| elects)?;
    Some(warn(format!("can forget acknowledged lock nodes in an election ({issue})")))
}

/// The issue by which servers of this version can lose acknowledged transactions in an election; `docs/install.md` says
/// which releases have the fixes.
fn forgets(version: Version) -> Option<&'static str> {
    match version {
        (3, 9, 3) => Some("ZOOKEEPER-4925"),
        (3, 9, 0 | 1) => Some("ZOOKEEPER-4785"),
        version if version < (3, 8, 5) => Some("ZOOKEEPER-4785"),
        _ => None,
    }
}

/// The first three numbers of a version; `None` if it doesn't begin with three.
fn numbers(version: &str) -> Option<Version> {
    let mut parts = version.splitn(3, '.');
    let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, minor.parse().ok()?, rest.get(..digits)?.parse().ok()?))
}

/// The client's certificate, and those of the servers.
pub(super) fn certificates(facts: &Facts) -> Vec<Finding> {
    let (now, has_session) = (facts.now.0 / 1_000, facts.session.is_ok());
    let own = facts
        .own_certificate_ends
        .map(|ends| certificate("client certificate".to_owned(), ends, now, true, has_session));
    let mut findings: Vec<Finding> = own.into_iter().collect();
    for server in &facts.servers {
        let ends = server.info.as_ref().ok().and_then(|info| info.certificate_ends);
        findings.extend(ends.map(|ends| {
            certificate(format!("certificate {}", server.server), ends, now, false, has_session)
        }));
    }
    // Several addresses of a name usually have the same certificate.
    findings.dedup();
    findings
}

fn certificate(about: String, ends: u64, now: i64, own: bool, has_session: bool) -> Finding {
    let left = i64::try_from(ends).unwrap_or(i64::MAX).saturating_sub(now);
    let when = date(ends).unwrap_or_else(|| "a very late date".to_owned());
    let remedy = if own { "put a new one in the file of --tls-cert" } else { "give the server a new one" };
    if left < 0 && !has_session {
        Finding::fail(about, format!("ended at {when}")).remedy(remedy)
    } else if left < 0 {
        // There is a session, so the servers don't require a valid certificate.
        Finding::warn(about, format!("ended at {when}")).remedy(remedy)
    } else if left < SOON * DAY {
        Finding::warn(about, format!("ends at {when}, in {} days", left / DAY)).remedy(remedy)
    } else {
        Finding::ok(about, format!("valid until {when}"))
    }
}

/// Whether there is a session, with which timeout and credentials.
pub(super) fn session(facts: &Facts) -> Vec<Finding> {
    let hosts = &facts.hosts;
    let names = facts.credentials.join(", ");
    let granted = match &facts.session {
        Ok(granted) => *granted,
        Err(SessionError::TooLate(within)) => {
            let what = if facts.servers.iter().all(|server| server.info.is_err()) {
                "no server gave a session".to_owned()
            } else {
                format!("servers answer, but none opened a session within {}", duration::text(*within))
            };
            let remedy = "correct -z or ZKLOCK_ZOOKEEPER, or check the servers";
            return vec![Finding::fail("session", what).remedy(remedy)];
        }
        Err(SessionError::CredentialsRefused) if names.is_empty() => {
            let what = format!("{hosts} demands credentials");
            return vec![
                Finding::fail("credentials", what).remedy("give them with --auth-file FILE or ZKLOCK_AUTH"),
            ];
        }
        Err(SessionError::CredentialsRefused) => {
            let what = format!("{hosts} refused the credentials ({names})");
            let remedy =
                "check the lines of --auth-file and ZKLOCK_AUTH, and whether the server knows their scheme";
            return vec![Finding::fail("credentials", what).remedy(remedy)];
        }
        Err(SessionError::Other(why)) => return vec![Finding::fail("session", why)],
    };
    let (asked, given) = (duration::text(facts.asked), duration::text(granted));
    let mut findings = vec![if granted == facts.asked {
        Finding::ok("session", format!("timeout {given}, as asked"))
    } else {
        let what = format!("timeout {given}, not the {asked} that was asked for");
        Finding::warn("session", what).remedy(format!(
            "use --session-timeout {given}, or change minSessionTimeout and maxSessionTimeout in zoo.cfg"
        ))
    }];
    if !names.is_empty() {
        findings.push(Finding::ok("credentials", format!("{names} accepted")));
    }
    findings.extend(facts.broken.as_ref().map(|why| {
        let remedy = "check the servers' load, or use a longer --connect-timeout";
        Finding::fail("session", why).remedy(remedy)
    }));
    findings
}

/// Whether round trips are fast enough for a lease.
pub(super) fn latency(facts: &Facts) -> Option<Finding> {
    let (granted, trip, median) = (*facts.session.as_ref().ok()?, facts.trip()?, facts.median_trip()?);
    let timeout = duration::text(granted);
    let takes = format!("a quorum write takes {}, the median is {}", time(trip), time(median));
    if is_quick_enough(facts)? {
        let tolerated = text::time(silence_ridden_out(granted, trip));
        return Some(Finding::ok("latency", format!("{takes}; a holder tolerates {tolerated} of silence")));
    }
    let what = format!("too slow for a session timeout of {timeout}: {takes}");
    Some(Finding::fail("latency", what).remedy(match smallest_timeout(facts) {
        Some(enough) => format!("use --session-timeout {} or more", enough.as_secs()),
        None => "no session timeout is long enough for that; use closer servers".to_owned(),
    }))
}

/// The time, with tenths of a millisecond below 10 ms.
fn time(time: Duration) -> String {
    if time < Duration::from_millis(10) {
        format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
    } else {
        text::time(time)
    }
}

/// Whether the servers' clock agrees with this host's.
pub(super) fn clock(facts: &Facts) -> Option<Finding> {
    let ahead = facts.clock_ahead()?;
    if ahead.unsigned_abs() <= MOST_APART {
        return Some(Finding::ok("clock", "this host's agrees with the servers'"));
    }
    let apart = text::time(Duration::from_millis(ahead.unsigned_abs()));
    let which = if ahead > 0 { "behind" } else { "ahead of" };
    let what =
        format!("this host's is {apart} {which} the servers', whose times status and --once-per go by");
    Some(Finding::warn("clock", what).remedy("synchronise the clocks; locks don't depend on them"))
}
