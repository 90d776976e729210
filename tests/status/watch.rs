//! `--watch`: the servers report changes, and zklock reads only then.

use super::{end, holder, wait_for_documents, waiter};
use crate::support::{
    At, Case, DEADLINE, Proxy, Running, Server, deaf_holder, end_deaf, op, shared, wait_until,
};
use serde_json::Value;
use std::fs;
use std::time::{Duration, Instant};

/// Starts a watch that prints a document for every change, and returns when it has shown the first state.
#[track_caller]
fn watch(case: &Case) -> Running {
    let watch = case.zklock().args(["status", "--watch", "--json", case.path()]).spawn();
    wait_for_documents(&watch, |documents| documents.len() == 1);
    watch
}

/// The same with a session timeout of this many seconds.
#[track_caller]
fn watch_with_session(case: &Case, seconds: f64) -> Running {
    let config = case.dir().join("config.toml");
    fs::write(&config, format!("session-timeout = {seconds}\n")).unwrap();
    let words = ["status", "--watch", "--json", case.path()];
    let watch = case.zklock().arg("--config").arg(config).args(words).spawn();
    wait_for_documents(&watch, |documents| documents.len() == 1);
    watch
}

/// The states of the contenders of the only lock; none if it isn't shown.
fn states(document: &Value) -> Vec<String> {
    let contenders = document["locks"][0]["contenders"].as_array();
    contenders
        .into_iter()
        .flatten()
        .map(|contender| contender["state"].as_str().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn wait_for_states(watch: &Running, expected: &[&str]) {
    wait_for_documents(watch, |documents| states(documents.last().unwrap()) == expected);
}

/// Starts a holder that doesn't connect through the proxy.
fn direct(case: &Case, server: &Server) -> Running {
    let zklock = crate::support::Zklock::at(&server.connect_string(), case.marker());
    let job = zklock.args([case.path(), "--", "sh", "-c", "echo running; exec sleep 60"]).spawn();
    job.wait_for_stdout("running", DEADLINE);
    job
}

#[test]
fn every_change_is_shown_as_a_document_of_one_line() {
    let case = Case::new("watch");
    let watch = watch(&case);
    wait_for_states(&watch, &[]);
    let job = holder(&case, &[]);
    wait_for_states(&watch, &["held"]);
    let second = waiter(&case, &[], 2);
    wait_for_states(&watch, &["held", "waiting"]);
    end(second);
    wait_for_states(&watch, &["held"]);
    end(job);
    wait_for_states(&watch, &[]);
    let documents = wait_for_documents(&watch, |_| true);
    assert!(documents.iter().all(|document| document["version"] == 1));
    assert!(documents.windows(2).all(|pair| pair[0] != pair[1]), "an unchanged state is not repeated");
    end(watch);
}

#[test]
fn a_watch_shows_revokes_and_successes() {
    let case = Case::new("watch-marks");
    let watch = watch(&case);
    let job = case.lock(&["--once-per", "60"], ["sleep", "60"]).spawn();
    wait_for_documents(&watch, |documents| states(documents.last().unwrap()).len() == 1);
    end(job);
    wait_for_documents(&watch, |documents| states(documents.last().unwrap()).is_empty());
    case.lock(&["--once-per", "60"], ["true"]).run().assert_code(0);
    wait_for_documents(&watch, |documents| {
        documents.last().unwrap()["locks"][0]["last_success"]["at"].is_string()
    });
    let job = deaf_holder(&case, &[]);
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    wait_for_documents(&watch, |documents| {
        documents.last().unwrap()["locks"][0]["contenders"][0]["revoked_by"].is_string()
    });
    end_deaf(job);
    end(watch);
}

#[test]
fn a_watch_sends_no_request_without_a_change() {
    let proxy = Proxy::to(shared());
    let case = Case::new("watch-quiet").through(&proxy.connect_string());
    let watch = watch_with_session(&case, 40.0);
    let (requests, pings) = (proxy.count_all(), proxy.count(op::PING));
    wait_until("time to pass", DEADLINE, || proxy.count(op::PING) >= pings + 2);
    assert_eq!(proxy.count_all(), requests);
    // A change of another node causes no request either.
    let elsewhere = format!("{}-elsewhere", case.path());
    case.observer().mkdirs(&elsewhere);
    case.observer().delete(&elsewhere);
    let pings = proxy.count(op::PING);
    wait_until("time to pass", DEADLINE, || proxy.count(op::PING) >= pings + 2);
    assert_eq!((proxy.count_all(), proxy.events()), (requests, 0));
    end(watch);
}

#[test]
fn a_watch_shows_missed_changes_after_a_reconnect() {
    let proxy = Proxy::to(shared());
    let case = Case::new("watch-cut").through(&proxy.connect_string());
    let watch = watch(&case);
    proxy.refuse_new(true);
    proxy.cut_all();
    watch.wait_for_line("no connection to the servers: what was shown last may be old", DEADLINE);
    let job = direct(&case, shared());
    proxy.refuse_new(false);
    wait_for_states(&watch, &["held"]);
    end(job);
    wait_for_states(&watch, &[]);
    end(watch);
}

#[test]
fn a_watch_survives_its_session() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "watch-expired").through(&proxy.connect_string());
    case.observer().mkdirs("/t");
    let before = server.sessions();
    let watch = watch_with_session(&case, 2.0);
    wait_until("the watch's own session", DEADLINE, || server.sessions() == before + 1);
    // Twice: the second session must set all watches again.
    for _ in 0..2 {
        proxy.refuse_new(true);
        proxy.cut_all();
        wait_until("the session to expire", DEADLINE, || server.sessions() == before);
        let job = direct(&case, &server);
        proxy.refuse_new(false);
        wait_for_states(&watch, &["held"]);
        end(job);
        wait_for_states(&watch, &[]);
    }
    end(watch);
}

/// The outage begins at a request of the listing that follows a change, and lasts longer than `--connect-timeout`.
#[track_caller]
fn assert_survives_at(ops: &'static [i32], session_timeout: f64, is_recursive: bool) {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "watch-cut-in-list").through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    let config = case.dir().join("config.toml");
    // A busy machine needs some of it for the first connection.
    fs::write(&config, format!("session-timeout = {session_timeout}\nconnect-timeout = 6\n")).unwrap();
    let recursive: &[_] = if is_recursive { &["--recursive"] } else { &[] };
    let words = [&["status", "--watch", "--json"], recursive, &[case.path()]].concat();
    let watch = case.zklock().arg("--config").arg(config).args(words).spawn();
    watch.wait_for_stdout("\"version\":1", DEADLINE);
    proxy.once(ops, At::Hold);
    let job = direct(&case, &server);
    proxy.wait_fired(1, DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    watch.wait_for_line("no connection to the servers: what was shown last may be old", DEADLINE);
    let began = Instant::now();
    wait_until("the limit to be over", DEADLINE, || began.elapsed() > Duration::from_secs(8));
    assert!(watch.is_running());
    proxy.refuse_new(false);
    wait_for_states(&watch, &["held"]);
    end(job);
    end(watch);
}

#[test]
fn a_watch_survives_an_outage_that_begins_during_a_listing() {
    assert_survives_at(op::GET_CHILDREN, 30.0, false);
}

#[test]
fn a_watch_survives_an_outage_in_the_middle_of_a_recursive_listing() {
    assert_survives_at(op::GET_DATA, 30.0, true);
}

#[test]
fn a_watch_survives_the_end_of_its_session_during_a_listing() {
    // On a busy machine it must not end before.
    assert_survives_at(op::GET_CHILDREN, 3.0, false);
}

#[test]
fn a_watch_survives_servers_that_are_down_for_long() {
    let server = Server::start();
    let case = Case::on(&server, "watch-dead");
    let config = case.dir().join("config.toml");
    fs::write(&config, "session-timeout = 2\nconnect-timeout = 4\n").unwrap();
    let words = ["status", "--watch", "--json", case.path()];
    let watch = case.zklock().arg("--config").arg(config).args(words).spawn();
    watch.wait_for_stdout("\"contenders\":[]", DEADLINE);
    server.kill();
    watch.wait_for_line("no connection to the servers", DEADLINE);
    // The session expires, and then an attempt to connect fails.
    let began = Instant::now();
    wait_until("several attempts to be over", DEADLINE, || began.elapsed() > Duration::from_secs(10));
    assert!(watch.is_running());
    server.restart();
    let job = direct(&case, &server);
    wait_for_states(&watch, &["held"]);
    end(job);
    end(watch);
}
