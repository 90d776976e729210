//! `--watch`: asks again every two seconds.

use super::{end, holder, wait_for_documents, waiter};
use crate::support::{At, Case, DEADLINE, Proxy, Running, Server, op, shared, wait_until};
use serde_json::Value;
use std::fs;

/// Starts a watch that prints a document for each change, and returns when it has shown the first state.
#[track_caller]
fn watch(case: &Case, config: &str) -> Running {
    let file = case.dir().join("config.toml");
    fs::write(&file, config).unwrap();
    let words = ["status", "--watch", "--json", case.path()];
    let watch = case.zklock().arg("--config").arg(file).args(words).spawn();
    wait_for_documents(&watch, |documents| documents.len() == 1);
    watch
}

/// The states of the contenders of the only lock; none if it isn't shown.
fn states(document: &Value) -> Vec<&str> {
    let contenders = document["locks"][0]["contenders"].as_array();
    contenders.into_iter().flatten().map(|contender| contender["state"].as_str().unwrap()).collect()
}

#[track_caller]
fn wait_for_states(watch: &Running, expected: &[&str]) {
    wait_for_documents(watch, |documents| states(documents.last().unwrap()) == expected);
}

#[test]
fn every_change_is_shown_as_a_document_of_one_line() {
    let case = Case::new("watch");
    let watch = watch(&case, "");
    let job = holder(&case, &["--once-per", "1ms"]);
    wait_for_states(&watch, &["held"]);
    let second = waiter(&case, &[], 2);
    wait_for_states(&watch, &["held", "waiting"]);
    end(second);
    end(job);
    wait_for_states(&watch, &[]);
    case.lock(&["--once-per", "60"], ["true"]).run().assert_code(0);
    let documents = wait_for_documents(&watch, |documents| {
        documents.last().unwrap()["locks"][0]["last_success"]["at"].is_string()
    });
    assert!(documents.iter().all(|document| document["version"] == 2));
    assert!(documents.windows(2).all(|pair| pair[0] != pair[1]), "an unchanged state is not repeated");
    end(watch);
}

#[test]
fn it_goes_on_after_an_outage_that_is_longer_than_its_session_and_the_connect_timeout() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "watch-expired").through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    let before = server.sessions();
    let watch = watch(&case, "session-timeout = 2\nconnect-timeout = 2\n");
    proxy.refuse_new(true);
    proxy.cut_all();
    watch.wait_for_line("no connection to the servers for 1 s", DEADLINE);
    wait_until("the session to expire", DEADLINE, || server.sessions() == before);
    let job = case.direct_holder(&[]);
    watch.wait_for_line("connecting for ", DEADLINE);
    proxy.refuse_new(false);
    wait_for_states(&watch, &["held"]);
    end(job);
    wait_for_states(&watch, &[]);
    end(watch);
}

#[test]
fn it_goes_on_after_an_outage_in_the_middle_of_a_look() {
    let proxy = Proxy::to(shared());
    let case = Case::new("watch-cut").through(&proxy.connect_string());
    let watch = watch(&case, "connect-timeout = 2\n");
    proxy.once(op::GET_CHILDREN, At::Hold);
    proxy.wait_fired(1, DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    let job = case.direct_holder(&[]);
    watch.wait_for_line("no connection to the servers for ", DEADLINE);
    proxy.refuse_new(false);
    wait_for_states(&watch, &["held"]);
    end(job);
    end(watch);
}

/// Without a chroot that would be all that other programs have on the servers, every two seconds.
#[test]
fn without_a_path_it_needs_a_chroot() {
    let case = Case::new("watch-root");
    case.observer().mkdirs(case.path());
    let chroot = format!("{}{}", case.hosts(), case.path());
    let watch = case.zklock().args(["-z", &chroot, "status", "--watch"]).spawn();
    watch.wait_for_stdout("no locks", DEADLINE);
    end(watch);
}
