//! The content of the record, and `status`, which shows it.

use super::{HOUR, MOMENT, record, run};
use crate::support::{Case, DEADLINE, host};
use serde_json::Value;

#[test]
fn status_shows_the_last_success() {
    let case = Case::new("once-status");
    let job = case.lock(HOUR, ["sh", "-c", "echo $ZKLOCK_FENCING_TOKEN"]).spawn();
    let pid = job.pid().as_raw();
    let token: i64 = job.wait(DEADLINE).assert_code(0).stdout.trim().parse().unwrap();
    let at = case.observer().stat(&record(&case)).unwrap().mtime;
    let at = jiff::Timestamp::from_millisecond(at).unwrap();
    let host = host();
    let output = case.zklock().args(["status", "--json", case.path()]).run();
    let seen: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        seen["locks"][0]["last_success"],
        serde_json::json!({"at": format!("{at:.3}"), "host": host, "pid": pid, "fencing_token": token})
    );
    let text = case.zklock().args(["status", case.path()]).run().stdout;
    let when = at.strftime("%Y-%m-%d %H:%M:%SZ");
    assert_eq!(text, format!("{}  free; last success {when} on {host}:{pid}\n", case.path()));
}

/// Another contender may hold the lock by then, so a lost holder must not record a success.
#[test]
fn a_holder_that_lost_its_node_records_no_success() {
    let case = Case::new("once-lost");
    for (how, why) in [(&["--force"][..], "deleted by another client"), (&[], "revoked by")] {
        let job = "trap 'exit 0' TERM; echo running; sleep 60 & wait";
        let running = case.lock(HOUR, ["sh", "-c", job]).spawn();
        running.wait_for_stdout("running", DEADLINE);
        case.zklock().arg("revoke").args(how).arg(case.path()).run().assert_code(0);
        running.wait(DEADLINE).assert_code(123).assert_stderr(why);
        assert!(!case.observer().exists(&record(&case)), "a command that was stopped has not succeeded");
    }
}

/// The node may be unrelated, or written by a later version.
#[test]
fn an_unknown_record_counts_by_its_time_and_the_next_one_has_the_program_and_no_arguments() {
    let case = Case::new("once-strange");
    case.observer().mkdirs("/t");
    case.observer().create(&record(&case), "?", zookeeper::CreateMode::Persistent);
    super::assert_skipped(&run(&case, HOUR, "echo ran"), 124);
    run(&case, MOMENT, "true # password=secret").assert_code(0);
    let record: Value = serde_json::from_str(&case.observer().data(&record(&case)).unwrap()).unwrap();
    assert_eq!(record["program"], "sh");
    assert!(!record.to_string().contains("secret"), "{record}");
}
