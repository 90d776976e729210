//! The questions about servers: whether each can be reached, and whether its version is fit for locks.

use serde_json::json;

use super::report::Report;
use crate::ensemble::{ServerInfo, ServerReport};

/// The oldest version with the requests that a lock needs.
const OLDEST: Version = (3, 5, 0);

const UPGRADE: &str = "upgrade to 3.9.4 or later, or to 3.8.5 or a later 3.8";

type Version = (u32, u32, u32);

/// Whether each address of each server can be reached.
pub(super) fn servers(report: &mut Report, servers: &[ServerReport], has_session: bool, has_tls: bool) {
    for ServerReport { server, address, info } in servers {
        let address = address.map(|address| address.to_string());
        let known = info.as_ref().ok();
        report.facts.servers.push(json!({
            "server": server,
            "address": address,
            "reached": known.is_some(),
            "error": info.as_ref().err(),
            "version": known.and_then(|info| info.version.as_ref()),
            "role": known.and_then(|info| info.role.as_ref()),
            "tls": known.map(|_| has_tls),
        }));
        // The address isn't repeated if the connect string has it.
        let is_told = |address: &String| {
            server.starts_with(&format!("{address}:")) || server.starts_with(&format!("[{address}]:"))
        };
        let address = address.filter(|address| !is_told(address));
        let about =
            format!("server {server}{}", address.map(|address| format!(" ({address})")).unwrap_or_default());
        match info {
            Ok(ServerInfo { version, role }) => {
                let version = version.as_ref().map_or_else(
                    || {
                        "a ZooKeeper, version and role not told (srvr isn't in 4lw.commands.whitelist)"
                            .to_owned()
                    },
                    |version| format!("ZooKeeper {version}"),
                );
                let tls = has_tls.then(|| "TLS".to_owned());
                let parts: Vec<_> = [Some(version), role.clone(), tls].into_iter().flatten().collect();
                report.ok(&about, parts.join(", "));
            }
            // The other servers are enough for a session.
            Err(error) if has_session => report.warn(&about, error, ""),
            Err(error) => report.fail(&about, error, ""),
        }
    }
}

/// Whether the servers' versions are fit for locks: a warning for each that is a risk, however many servers run it.
pub(super) fn versions(report: &mut Report, servers: &[ServerReport]) {
    for info in servers.iter().filter_map(|server| server.info.as_ref().ok()) {
        if let (Some(version), Some(risk)) = (&info.version, risk(info)) {
            report.warn(&format!("version {version}"), risk, UPGRADE);
        }
    }
}

fn risk(info: &ServerInfo) -> Option<String> {
    let version = numbers(info.version.as_deref()?)?;
    if version < OLDEST {
        return Some("has no locks for zklock, which needs 3.5 or newer".to_owned());
    }
    // A standalone server takes part in no election.
    let elects = matches!(info.role.as_deref(), Some("leader" | "follower" | "observer"));
    let issue = forgets(version).filter(|_| elects)?;
    Some(format!("can forget acknowledged lock nodes in an election ({issue})"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_can_forget_in_an_election_are_a_warning_for_members_of_an_ensemble() {
        let risk_of = |version: &str, role: Option<&str>| {
            risk(&ServerInfo { version: Some(version.to_owned()), role: role.map(str::to_owned) })
        };
        for (versions, risk) in [
            ("3.5.0 3.6.4 3.8.0 3.8.4 3.9.0 3.9.1 3.8.0-cdh7 3.8.0.7.2.18", Some("(ZOOKEEPER-4785)")),
            ("3.9.3 3.9.3-vendor1", Some("(ZOOKEEPER-4925)")),
            ("3.8.5 3.8.10 3.9.2 3.9.4 3.9.10 3.10.0 4.0.0", None),
            ("unknown 3.8 3 v3.8.0 3.x.0 3.8. . .. 3.8.99999999999 ?", None),
            ("3.4.14 3.4.6-258 2.9.9", Some("needs 3.5 or newer")),
        ] {
            for version in versions.split(' ') {
                let found = risk_of(version, Some("follower"));
                let is_right =
                    risk.map_or(found.is_none(), |risk| found.is_some_and(|found| found.ends_with(risk)));
                assert!(is_right, "{version}");
            }
        }
        assert_eq!((risk_of("3.8.0", Some("standalone")), risk_of("3.8.0", None)), (None, None));
    }
}
