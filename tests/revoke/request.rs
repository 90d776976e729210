//! A revoked holder stops its command as on TERM, and reports the revoker.

use super::{holder, host, revoke};
use crate::support::{At, Case, DEADLINE, Proxy, deaf_holder, end_deaf, op, shared};
use zookeeper::CreateMode;

#[test]
fn a_revoked_holder_stops_and_names_the_revoker() {
    let case = Case::new("revoke");
    let holder = holder(&case, &["--label", "nightly"]);
    let pid = holder.pid();
    let revoking = case.zklock().args(["revoke", case.path()]).spawn();
    let revoker = format!("{}:{}", host(), revoking.pid());
    let output = revoking.wait(DEADLINE);
    let message = format!("{}: {}:{pid} (nightly): asked to stop\n", case.path(), host());
    assert_eq!(output.assert_code(0).stdout, message);
    assert_eq!(output.stderr, "");
    let output = holder.wait(DEADLINE);
    output.assert_code(123).assert_stderr(&format!("the lock is revoked by {revoker}"));
    output.assert_stderr(case.path());
}

#[test]
fn a_second_revoke_says_that_the_holder_was_asked_before() {
    let case = Case::new("revoke-twice");
    let holder = deaf_holder(&case, &[]);
    assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(": asked to stop\n"));
    holder.wait_for_line("revoked by", DEADLINE);
    let data = || case.observer().data(&format!("{}/{}", case.path(), case.contenders()[0]));
    let first = data();
    assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(": was asked to stop before\n"));
    assert_eq!(data(), first, "the first revoker stays in the record");
    let table = case.zklock().args(["status", case.path()]).run().stdout;
    assert!(table.contains("held, asked to stop"), "{table}");
    end_deaf(holder);
}

#[test]
fn a_revoke_changes_nothing_else_in_the_record() {
    let case = Case::new("revoke-record");
    let holder = deaf_holder(&case, &["--label", "x"]);
    case.wait_for_held_since(1);
    let record = || {
        let node = format!("{}/{}", case.path(), case.contenders()[0]);
        serde_json::from_str::<serde_json::Value>(&case.observer().data(&node).unwrap()).unwrap()
    };
    let before = record();
    let output = revoke(&case, &["-q"]);
    assert_eq!((output.assert_code(0).stdout.as_str(), output.stderr.as_str()), ("", ""));
    let mut after = record();
    let by = after.as_object_mut().unwrap().remove("revoked_by").unwrap();
    assert!(by.as_str().unwrap().starts_with(&host()), "{by}");
    assert_eq!(after, before);
    end_deaf(holder);
}

#[test]
fn a_mark_whose_reply_is_lost_is_reported_as_this_request() {
    for (data, at) in
        ["", "{}"].into_iter().flat_map(|data| [(data, At::BeforeReply), (data, At::BeforeServer)])
    {
        let proxy = Proxy::to(shared());
        let case = Case::new("revoke-lost").through(&proxy.connect_string());
        case.observer().mkdirs(case.path());
        let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
        let node = case.observer().create(&name, data, CreateMode::EphemeralSequential);
        proxy.once(op::SET_DATA, at);
        let output = revoke(&case, &[]);
        proxy.wait_fired(1, DEADLINE);
        assert!(output.assert_code(0).stdout.ends_with(": asked to stop\n"), "{output}");
        let output = revoke(&case, &[]);
        assert!(output.assert_code(0).stdout.ends_with(": was asked to stop before\n"), "{output}");
        case.observer().delete(&node);
    }
}
