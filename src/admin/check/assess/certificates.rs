//! Findings about the expiry of certificates.

use super::super::facts::Facts;
use super::super::json::date;
use super::Finding;

const DAY: i64 = 24 * 60 * 60;

/// A certificate that ends in fewer days than this is a warning.
const SOON: i64 = 14;

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
