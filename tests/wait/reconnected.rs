//! A wait whose connection, session or server is lost goes on, with the same contenders to wait for.

use super::{assert_free, end, queue, wait};
use crate::support::{Case, DEADLINE, Proxy, Running, Server, Zklock, op, shared, wait_until};
use nix::sys::signal::Signal;
use std::time::Duration;

/// A wait behind a proxy. All contenders connect directly.
struct Stage {
    proxy: Proxy,
    case: Case,
}

impl Stage {
    fn new(name: &str) -> Self {
        Self { proxy: Proxy::to(shared()), case: Case::new(name) }
    }

    /// Starts a wait, and returns when it waits for so many contenders.
    fn wait(&self, options: &[&str], count: usize) -> Running {
        let zklock = Zklock::at(&self.proxy.connect_string(), self.case.marker());
        let waits = zklock.args(["wait", "-vv"]).args(options).arg(self.case.path()).spawn();
        waits.wait_for_line(&format!(", {count} ahead"), DEADLINE);
        waits
    }
}

#[test]
fn it_sees_after_a_gap_that_the_lock_became_free() {
    let stage = Stage::new("wait-gap");
    let case = &stage.case;
    let (first, last) = (case.add_contender("first"), case.add_contender("last"));
    let waits = stage.wait(&[], 2);
    stage.proxy.refuse_new(true);
    stage.proxy.cut_all();
    waits.wait_for_line("connection lost while waiting", DEADLINE);
    case.observer().delete(&last);
    let later = case.add_contender("later");
    stage.proxy.refuse_new(false);
    waits.wait_for_line(", 1 ahead", DEADLINE);
    case.observer().delete(&first);
    assert_free(waits);
    case.observer().delete(&later);
}

#[test]
fn it_is_woken_after_a_gap_in_which_nothing_changed() {
    let stage = Stage::new("wait-woken");
    let first = stage.case.add_contender("first");
    let waits = stage.wait(&[], 1);
    stage.proxy.cut_all();
    waits.wait_for_line("connected again", DEADLINE);
    stage.case.observer().delete(&first);
    assert_free(waits);
}

#[test]
fn a_lost_session_changes_nothing_of_whom_it_waits_for() {
    let stage = Stage::new("wait-expired");
    let case = &stage.case;
    let first = case.add_contender("first");
    let config = case.dir().join("zklock.toml");
    std::fs::write(&config, "session-timeout = 1\n").unwrap();
    let waits = stage.wait(&["--config", config.to_str().unwrap()], 1);
    stage.proxy.blackhole();
    waits.wait_for_line("the session is over", DEADLINE);
    let later = case.add_contender("later");
    let before = waits.stderr().count("connected again");
    stage.proxy.pass();
    wait_until("another session", DEADLINE, || waits.stderr().count("connected again") > before);
    case.observer().delete(&first);
    assert_free(waits);
    case.observer().delete(&later);
}

#[test]
fn a_server_that_restarts_is_waited_for() {
    let server = Server::start();
    let case = Case::on(&server, "wait-restart");
    let first = queue(&case, &[]);
    let waits = wait(&case, &["-v", case.path()]).spawn();
    waits.wait_for_line(", 1 ahead", DEADLINE);
    server.restart();
    case.observer().disconnect();
    first.signal(Signal::SIGTERM);
    first.wait(DEADLINE);
    assert_free(waits);
}

/// Lost answers are asked for again.
#[test]
fn whichever_answer_is_lost_it_ends_when_the_lock_is_free() {
    for requests in [op::GET_CHILDREN, op::GET_DATA, op::SYNC] {
        let stage = Stage::new("wait-lost");
        stage.proxy.once(requests, crate::support::At::BeforeReply);
        let first = stage.case.add_contender("first");
        let waits = stage.wait(&["-w", "60"], 1);
        stage.proxy.wait_fired(1, DEADLINE);
        stage.case.observer().delete(&first);
        assert_free(waits);
    }
}

#[test]
fn a_limit_in_a_short_silence_is_busy_and_in_a_long_one_a_failure() {
    let stage = Stage::new("wait-silence");
    let first = stage.case.add_contender("first");
    let short = stage.wait(&["-w", "8", "-E", "4"], 1);
    let config = stage.case.dir().join("zklock.toml");
    std::fs::write(&config, "session-timeout = 4\n").unwrap();
    let long = stage.wait(&["-w", "10", "-E", "4", "--config", config.to_str().unwrap()], 1);
    stage.proxy.blackhole();
    let short = short.wait(DEADLINE);
    short.assert_code(4).assert_stderr("busy: gave up after ");
    let long = long.wait(DEADLINE);
    long.assert_code(125);
    assert!(long.elapsed < Duration::from_secs(25), "{:?}", long.elapsed);
    stage.proxy.pass();
    stage.case.observer().delete(&first);
}

#[test]
fn with_nonblock_it_ends_in_time_although_no_server_answers() {
    let stage = Stage::new("wait-nonblock");
    stage.proxy.once(op::GET_CHILDREN, crate::support::At::Hold);
    let zklock = Zklock::at(&stage.proxy.connect_string(), stage.case.marker());
    // With a shorter session it would ask again over another connection before that.
    let words = ["wait", "-n", "-E", "0", "--session-timeout", "60", "--connect-timeout", "4"];
    let output = zklock.args(words).arg(stage.case.path()).run();
    output.assert_code(125).assert_stderr("but got no answer about the lock within ");
    assert!(output.elapsed < Duration::from_secs(25), "{:?}", output.elapsed);
    end(super::holder(&stage.case, &[]));
}
