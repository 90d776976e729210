use std::time::Duration;

use serde_json::json;
use zklock_core::queue::name::Family;

use super::super::facts::{Chroot, ChrootState, Facts, OldRecord, Probe, SessionError};
use super::servers::risk;
use super::{Finding, Fitness, Severity, assess};
use crate::ensemble::{RequestError, ServerInfo, ServerReport, ServerTime};

const DAY: u64 = 24 * 60 * 60;

fn server(name: &str, info: Result<ServerInfo, String>) -> ServerReport {
    ServerReport { server: name.to_owned(), address: "192.0.2.1".parse().ok(), info }
}

fn leader() -> ServerInfo {
    ServerInfo { version: Some("3.8.5".to_owned()), role: Some("leader".to_owned()), certificate_ends: None }
}

/// A set-up without a fault.
fn fit() -> Facts {
    Facts {
        hosts: "zk1:2181".to_owned(),
        tls: false,
        servers: vec![server("zk1:2181", Ok(leader()))],
        asked: Duration::from_secs(30),
        session: Ok(Duration::from_secs(30)),
        broken: None,
        trips: [30, 20, 90].map(Duration::from_millis).to_vec(),
        kill_after: Duration::from_secs(5),
        chroot: None,
        credentials: vec![],
        own_certificate_ends: None,
        path: Some("/locks/job".to_owned()),
        probe: Some(Probe {
            parent: "/locks".to_owned(),
            create: Ok(0),
            number: None,
            read: None,
            delete: Some(Ok(())),
        }),
        family: Family::Curator,
        queue: None,
        records: vec![],
        now: ServerTime(1_800_000_000_000),
    }
}

/// Everything that is text of facts and isn't all right, in lines.
#[track_caller]
fn faults(facts: &Facts, fitness: Fitness) -> String {
    let findings = assess(facts);
    assert_eq!(Fitness::of(&findings), fitness, "{findings:#?}");
    let line = |finding: &Finding| {
        let Finding { level, about, what, remedy } = finding;
        format!("{} {about}: {what}: {}\n", level.word(), remedy.as_deref().unwrap_or_default())
    };
    findings.iter().filter(|finding| finding.level != Severity::Ok).map(line).collect()
}

#[track_caller]
fn assert_fault(facts: &Facts, fitness: Fitness, parts: &[&str]) {
    let text = faults(facts, fitness);
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn a_set_up_without_a_fault_is_fit_and_described() {
    assert_eq!(faults(&fit(), Fitness::Fit), "");
    let text: Vec<String> = assess(&fit()).into_iter().map(|finding| finding.what).collect();
    let line = "a quorum write takes 20 ms, the median is 30 ms; a holder tolerates 9.9 s of silence";
    for what in ["ZooKeeper 3.8.5, leader", "timeout 30s, as asked", line, "CREATE and DELETE on /locks"] {
        assert!(text.iter().any(|found| found == what), "no {what:?} in {text:?}");
    }
}

#[test]
fn a_dead_server_is_a_warning_while_there_is_a_session_and_a_failure_without() {
    let refused = "connection refused; nothing listens there";
    let mut facts = fit();
    facts.servers.push(server("zk2:2181", Err(refused.to_owned())));
    assert_fault(&facts, Fitness::Warnings, &["warn server zk2:2181 (192.0.2.1)", refused]);
    facts.servers.remove(0);
    facts.session = Err(SessionError::TooLate(Duration::from_secs(10)));
    facts.probe = None;
    let text = faults(&facts, Fitness::Unfit);
    assert!(text.contains("fail server zk2:2181") && text.contains("no server gave a session"), "{text}");
}

#[test]
fn a_version_that_can_forget_is_one_warning_however_many_servers_run_it() {
    let of = |version: &str, role: &str| {
        let (version, role) = (Some(version.to_owned()), Some(role.to_owned()));
        server("zk:2181", Ok(ServerInfo { version, role, certificate_ends: None }))
    };
    let servers = vec![of("3.8.4", "leader"), of("3.8.4", "follower"), of("3.9.4", "follower")];
    let facts = Facts { servers, ..fit() };
    let parts =
        ["warn version 3.8.4: can forget", "(ZOOKEEPER-4785): upgrade to 3.9.4 or later, or to 3.8.5"];
    assert_fault(&facts, Fitness::Warnings, &parts);
    let facts = Facts { servers: vec![of("3.8.4", "follower"), of("3.9.3", "leader")], ..fit() };
    assert_eq!(faults(&facts, Fitness::Warnings).lines().count(), 2);
    let facts = Facts { servers: vec![of("3.8.4", "standalone")], ..fit() };
    assert_eq!(faults(&facts, Fitness::Fit), "");
}

#[test]
fn refused_credentials_are_named_and_missing_ones_requested() {
    let mut facts = Facts { session: Err(SessionError::CredentialsRefused), probe: None, ..fit() };
    assert_fault(&facts, Fitness::Unfit, &["demands credentials", "--auth-file"]);
    facts.credentials = vec!["digest:ci".to_owned()];
    assert_fault(&facts, Fitness::Unfit, &["refused the credentials (digest:ci)"]);
}

#[test]
fn another_session_timeout_than_the_one_asked_for_is_a_warning() {
    let facts = Facts { session: Ok(Duration::from_secs(40)), asked: Duration::from_secs(100), ..fit() };
    assert_fault(&facts, Fitness::Warnings, &["timeout 40s, not the 100s", "--session-timeout 40s"]);
}

#[test]
fn a_line_that_is_too_slow_is_a_failure_with_the_timeout_that_works() {
    let facts = Facts { trips: vec![Duration::from_secs(3)], ..fit() };
    assert_fault(
        &facts,
        Fitness::Unfit,
        &["too slow for a session timeout of 30s", "use --session-timeout "],
    );
}

#[test]
fn each_missing_permission_is_named_with_its_node() {
    let denied = || Err(RequestError::NoAuth);
    let mut facts = fit();
    let probe = |create, read, delete| {
        Some(Probe { parent: "/locks/job".to_owned(), create, number: None, read, delete })
    };
    facts.probe = probe(Err(RequestError::NoAuth), None, None);
    assert_fault(&facts, Fitness::Unfit, &["no CREATE on /locks/job", "give credentials"]);
    facts.probe = probe(Ok(0), Some(denied()), Some(Ok(())));
    assert_fault(&facts, Fitness::Unfit, &["no READ on /locks/job"]);
    facts.probe = probe(Ok(0), Some(Ok(())), Some(denied()));
    assert_fault(&facts, Fitness::Warnings, &["no DELETE on /locks/job"]);
    facts.probe = probe(Err(RequestError::InvalidAcl), None, None);
    assert_fault(&facts, Fitness::Unfit, &["/locks/job: the server rejects the ACL of --acl"]);
    facts.path = None;
    assert_eq!(faults(&facts, Fitness::Fit), "", "nobody asked for a lock");
}

#[test]
fn a_missing_chroot_is_a_failure_with_the_command_that_creates_it() {
    let chroot = |state| Some(Chroot { path: "/app".to_owned(), state });
    let missing = Facts { chroot: chroot(ChrootState::Missing), probe: None, ..fit() };
    assert_fault(&missing, Fitness::Unfit, &["chroot /app", "zklock check --create-chroot -z zk1:2181"]);
    let refused = ChrootState::Refused(RequestError::NoCreate("/".to_owned()));
    let refused = Facts { chroot: chroot(refused), probe: None, ..fit() };
    assert_fault(
        &refused,
        Fitness::Unfit,
        &["can't be created: permission denied: zklock needs CREATE on /"],
    );
    let created = Facts { chroot: chroot(ChrootState::Created), ..fit() };
    assert_eq!(faults(&created, Fitness::Fit), "");
}

#[test]
fn a_certificate_is_a_warning_in_its_last_fourteen_days() {
    let now = 1_800_000_000;
    for (ends, fitness) in [
        (now + 15 * DAY, Fitness::Fit),
        (now + 14 * DAY - 1, Fitness::Warnings),
        (now + 1, Fitness::Warnings),
        (now - 1, Fitness::Warnings),
    ] {
        let own = Facts { own_certificate_ends: Some(ends), ..fit() };
        let servers =
            vec![server("zk1:2181", Ok(ServerInfo { certificate_ends: Some(ends), ..leader() })); 2];
        let of_servers = Facts { servers, tls: true, ..fit() };
        for (facts, about) in [(own, "client certificate"), (of_servers, "certificate zk1:2181")] {
            match fitness {
                Fitness::Fit => assert_eq!(faults(&facts, Fitness::Fit), ""),
                fitness => assert_fault(&facts, fitness, &[about, "2027-0", "new one"]),
            }
        }
    }
}

#[test]
fn an_expired_client_certificate_is_a_failure_if_there_is_no_session() {
    let session = Err(SessionError::TooLate(Duration::from_secs(10)));
    let facts = Facts { own_certificate_ends: Some(1), session, probe: None, ..fit() };
    let text = faults(&facts, Fitness::Unfit);
    assert!(text.contains("fail client certificate: ended at 1970-01-01T00:00:01Z"), "{text}");
}

#[test]
fn a_wrong_clock_is_only_a_warning() {
    for (ahead, text) in [(60_000, "1 min behind the servers'"), (-60_000, "1 min ahead of the servers'")] {
        let mut facts = fit();
        facts.probe = facts.probe.map(|probe| Probe { create: Ok(ahead), ..probe });
        assert_fault(&facts, Fitness::Warnings, &[text, "synchronise"]);
    }
}

#[test]
fn records_of_unused_locks_are_counted_and_some_are_named() {
    let record = |number: u64| OldRecord {
        lock: format!("/locks/{number}"),
        last_success: ServerTime(0),
        age: Duration::from_secs(number * DAY),
    };
    let facts = Facts { records: vec![record(99), record(30), record(31)], ..fit() };
    let long = format!("/locks/a {}", "b".repeat(200));
    let awkward = OldRecord { lock: long.clone(), ..record(31) };
    assert_fault(
        &Facts { records: vec![awkward], ..fit() },
        Fitness::Warnings,
        &[&format!("zklock forget \"{long}\"")],
    );
    let named = "zklock forget /locks/99; zklock forget /locks/31";
    assert_fault(&facts, Fitness::Warnings, &["more than 30 days ago: 2", "99 days", named]);
    let facts = Facts { records: (31..40).rev().map(record).collect(), ..fit() };
    assert_fault(&facts, Fitness::Warnings, &["and so on for 6 more"]);
}

#[test]
fn a_session_that_breaks_is_a_failure() {
    let facts = Facts { broken: Some("the session expired".to_owned()), probe: None, ..fit() };
    assert_fault(&facts, Fitness::Unfit, &["the session expired"]);
}

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
                let expected =
                    issue.map(|issue| format!("can forget acknowledged lock nodes in an election ({issue})"));
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
            assert!(warning(version, role).is_some_and(|what| what.contains("3.5 or newer")), "{version}");
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

#[test]
fn findings_and_records_have_exactly_the_documented_fields() {
    let finding = Finding::warn("clock", "is off");
    assert_eq!(json!(finding), json!({"about": "clock", "what": "is off", "remedy": null}));
    let finding = finding.remedy("set it");
    assert_eq!(json!(finding), json!({"about": "clock", "what": "is off", "remedy": "set it"}));
    let (lock, last_success, age) = ("/locks/old".to_owned(), ServerTime(1), Duration::from_secs(31 * DAY));
    let record = OldRecord { lock, last_success, age };
    assert_eq!(json!(record), json!({"path": "/locks/old", "last_success": "1970-01-01T00:00:00.001Z"}));
    let verdicts = [Fitness::Fit, Fitness::Warnings, Fitness::Unfit];
    assert_eq!(json!(verdicts), json!(["fit", "warnings", "unfit"]));
}
