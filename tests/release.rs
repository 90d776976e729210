//! After a run no node and no session is left, however it ended.

use crate::support::{Case, DEADLINE, Proxy, Server, deaf_holder, end, shared, wait_until};
use nix::sys::signal::Signal;

const NO_CONTENDERS: [String; 0] = [];

/// The number of sessions on the server, including the observer's.
fn sessions(server: &Server) -> usize {
    let dump = server.four_letter("dump");
    let line = dump.lines().find(|line| line.starts_with("Session Sets ("));
    let (_, count) = line.and_then(|line| line.rsplit_once('(')).unwrap();
    count.trim_end_matches("):").parse().unwrap()
}

#[test]
fn node_and_session_are_gone_when_zklock_exits() {
    let server = Server::start();
    let case = Case::on(&server, "at-once");
    assert!(!case.observer().exists(case.path()));
    let before = sessions(&server);
    let other = format!("{}-other", case.path());
    for words in [
        vec![case.path(), "true"],
        vec![case.path(), "-c", "exit 3"],
        vec![case.path(), "-c", "kill -KILL $$"],
        vec![case.path(), "no-such-program"],
        vec![case.path(), &other, "--", "true"],
        // If the server grants another timeout than requested, zklock opens a second session.
        vec!["--session-timeout", "3600", case.path(), "true"],
        vec!["-n", case.path(), "true"],
    ] {
        let output = case.zklock().args(&words).run();
        assert_eq!(sessions(&server), before, "{words:?}: {output}");
        assert_eq!(case.contenders(), NO_CONTENDERS, "{words:?}");
        assert_eq!(case.observer().children(&other), NO_CONTENDERS, "{words:?}");
    }
}

#[test]
fn a_run_that_gave_up_leaves_no_session() {
    let server = Server::start();
    let case = Case::on(&server, "nothing");
    let holder = case.holder();
    // The observer opens its session with its first request.
    case.wait_for_contenders(1);
    let before = sessions(&server);
    for options in [&["-n"][..], &["-w", "5"]] {
        case.lock(options, ["true"]).run().assert_code(124);
        assert_eq!(sessions(&server), before, "{options:?}");
        assert_eq!(case.contenders().len(), 1);
    }
    end(holder);
    assert_eq!(sessions(&server), before - 1);
}

#[test]
fn the_lock_is_kept_until_the_command_has_ended() {
    let case = Case::new("kept");
    let history = case.history();
    // The job ends slowly. It writes nothing between begin and end: the signal to its group would kill the `date` that
    // a line needs.
    let quiet = history.endless_job("slow").replace("mark alive; ", "");
    let job = format!("trap 'sleep 0.5; mark end; exit 0' TERM; {quiet}");
    let slow = case.lock(&[], ["sh", "-c", &job]).spawn();
    wait_until("the job to run", DEADLINE, || !history.sections().unwrap().is_empty());
    let next = case.lock(&[], ["sh", "-c", &history.job("next", 0.0)]).spawn();
    case.wait_for_contenders(2);
    slow.signal(Signal::SIGTERM);
    slow.wait(DEADLINE).assert_code(0);
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["slow", "next"]);
    assert!(history.sections().unwrap()[0].ended);
}

#[test]
fn an_expired_session_needs_no_release() {
    let proxy = Proxy::to(shared());
    let case = Case::new("over").through(&proxy.connect_string());
    // Deaf, so that the release begins late.
    let running = deaf_holder(&case, &["-vv", "--session-timeout", "4"]);
    proxy.blackhole();
    case.wait_for_contenders(0);
    proxy.pass();
    running.wait_for_line("session is over: Expired", DEADLINE);
    let output = running.wait(DEADLINE);
    output.assert_code(123);
    assert!(!output.stderr.contains("no server confirmed"), "{output}");
}
