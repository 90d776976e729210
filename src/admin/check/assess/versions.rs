//! Findings about the versions of the servers: those that can forget a lock node, and those without locks.

use super::super::facts::Facts;
use super::Finding;
use crate::runtime::zk::ServerInfo;

/// The oldest version with the requests that a lock needs.
const OLDEST: Version = (3, 5, 0);

const REMEDY: &str = "upgrade to 3.9.4 or later, or to 3.8.5 or a later 3.8";

type Version = (u32, u32, u32);

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

fn risk(info: &ServerInfo) -> Option<Finding> {
    let said = info.version.as_deref()?;
    let version = numbers(said)?;
    let warn = |what: String| Finding::warn(format!("version {said}"), what).remedy(REMEDY);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(version: &str, role: &str) -> Option<String> {
        let (version, role) = (Some(version.to_owned()), Some(role.to_owned()));
        risk(&ServerInfo { version, role, certificate_ends: None }).map(|finding| finding.what)
    }

    #[test]
    fn versions_that_can_forget_in_an_election_are_a_warning_for_members_of_an_ensemble() {
        for (versions, issue) in [
            ("3.5.0 3.5.10 3.6.4 3.7.2 3.8.0 3.8.4 3.9.0 3.9.1", Some("ZOOKEEPER-4785")),
            ("3.8.0-cdh7 3.8.0.7.2.18 3.8.4-SNAPSHOT", Some("ZOOKEEPER-4785")),
            ("3.9.3 3.9.3-vendor1", Some("ZOOKEEPER-4925")),
            ("3.8.5 3.8.6 3.8.10 3.9.2 3.9.4 3.9.5 3.9.10 3.10.0 4.0.0", None),
            ("unknown 3.8 3 v3.8.0 3.x.0 3.8. . .. 3.8.99999999999 ?", None),
        ] {
            for version in versions.split(' ') {
                for role in ["leader", "follower", "observer"] {
                    let what = warning(version, role);
                    let expected = issue
                        .map(|issue| format!("can forget acknowledged lock nodes in an election ({issue})"));
                    assert_eq!(what, expected, "{version} {role}");
                }
                assert_eq!(warning(version, "standalone"), None, "{version}");
            }
        }
    }

    #[test]
    fn a_version_without_locks_is_a_warning_in_any_role() {
        for version in ["3.4.14", "3.4.6-258", "3.3.0", "2.9.9"] {
            for role in ["leader", "standalone"] {
                assert!(
                    warning(version, role).is_some_and(|what| what.contains("3.5 or newer")),
                    "{version}"
                );
            }
        }
    }

    #[test]
    fn a_server_that_reports_no_version_or_role_gives_no_warning() {
        let of = |version: Option<&str>, role: Option<&str>| ServerInfo {
            version: version.map(str::to_owned),
            role: role.map(str::to_owned),
            certificate_ends: None,
        };
        assert_eq!(risk(&of(None, None)), None);
        assert_eq!(risk(&of(Some("3.8.0"), None)), None);
        assert_eq!(risk(&of(None, Some("leader"))), None);
    }
}
