//! Session timeouts, slow connections, and clocks.

use super::{assert_line, check, json};
use crate::support::{Case, Proxy, Server, shared, skewed_clock};
use std::time::Duration;

#[test]
fn another_session_timeout_than_the_one_asked_for_is_told() {
    let limits = ["minSessionTimeout=20000", "maxSessionTimeout=40000"];
    let server = Server::builder().config(limits[0]).config(limits[1]).start();
    let case = Case::on(&server, "check-clamped");
    for (words, asked, granted) in [
        (["check", "--json", "--session-timeout", "1"], "1", 20.0),
        (["--session-timeout", "100", "check", "--json"], "100", 40.0),
    ] {
        let output = case.zklock().args(words).run();
        let document = json(output.assert_code(1));
        assert_eq!(document["session"]["asked"].as_f64().unwrap().to_string(), asked);
        assert_eq!(document["session"]["granted"], granted);
        let what = document["warnings"][0]["what"].as_str().unwrap();
        assert_eq!(what, format!("timeout {granted}s, not the {asked}s that was asked for"));
    }
    assert_line(
        check(&case, &["--session-timeout", "20"]).run().assert_code(0),
        "ok",
        "session",
        "timeout 20s",
    );
}

#[test]
fn a_slow_line_is_unfit_and_what_is_proposed_is_fit() {
    let proxy = Proxy::to(shared());
    proxy.delay(Duration::from_millis(200));
    let case = Case::new("check-slow").through(&proxy.connect_string());
    case.observer().mkdirs("/t");
    let output = check(&case, &["--session-timeout", "4", case.path()]).run();
    assert_line(output.assert_code(125), "fail", "latency", "too slow for a session timeout of 4s");
    assert!(output.stdout.contains("\nnot ready: failures: 1, warnings: "), "{output}");
    let document = json(&check(&case, &["--json", "--session-timeout", "4"]).run());
    assert_eq!(document["lease"]["quick_enough"], false, "{document}");
    let enough = document["lease"]["smallest_session_timeout"].as_u64().unwrap();
    assert!(enough > 4, "{document}");
    // The connection may be slower now, but not by much.
    let output = check(&case, &["--session-timeout", &(enough * 2).to_string(), case.path()]).run();
    assert_line(output.assert_code(0), "ok", "latency", "of silence");
}

#[test]
fn a_wrong_clock_of_this_host_is_a_warning() {
    let case = Case::new("check-clock");
    for (skew, said) in [("-86400", "24 h behind"), ("86400", "24 h ahead of")] {
        let clock = skewed_clock(case.dir());
        let output = check(&case, &[]).env("LD_PRELOAD", clock).env("SKEW", skew).run();
        output.assert_code(1);
        // The difference may be a few milliseconds less than a day.
        let said = [said.to_owned(), said.replace("24 h", "23 h 59 min")];
        assert!(said.iter().any(|said| output.stdout.contains(said)), "{output}");
    }
}
