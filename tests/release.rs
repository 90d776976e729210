//! After a run no node and no session is left, however it ended.

use crate::support::{Case, DEADLINE, Proxy, Server, deaf_holder, end, shared};

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
    let (case, held) = (Case::on(&server, "at-once"), Case::on(&server, "held"));
    assert!(!case.observer().exists(case.path()));
    let holder = held.holder();
    // The observer opens its session with its first request.
    held.wait_for_contenders(1);
    let before = sessions(&server);
    let other = format!("{}-other", case.path());
    for (words, code) in [
        (vec![case.path(), "true"], 0),
        (vec![case.path(), "-c", "exit 3"], 3),
        (vec![case.path(), "no-such-program"], 127),
        (vec![case.path(), &other, "--", "true"], 0),
        // If the server grants another timeout than requested, zklock opens a second session.
        (vec!["--session-timeout", "3600", case.path(), "true"], 0),
        (vec!["-n", case.path(), "true"], 0),
        (vec![case.path(), "-c", "kill -KILL $$"], -9),
        (vec!["-n", held.path(), "true"], 124),
        (vec!["-w", "5", held.path(), "true"], 124),
    ] {
        let output = case.zklock().args(&words).run();
        assert_eq!(output.code.unwrap_or(-output.signal.unwrap_or(0)), code, "{words:?}: {output}");
        assert_eq!(sessions(&server), before, "{words:?}: {output}");
        assert_eq!((case.contenders().len(), held.contenders().len()), (0, 1), "{words:?}");
        assert_eq!(case.observer().children(&other), [""; 0], "{words:?}");
    }
    end(holder);
    assert_eq!(sessions(&server), before - 1);
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
