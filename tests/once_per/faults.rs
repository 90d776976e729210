//! Lost requests and replies: the success is recorded once, and the command's exit code is kept.

use super::{HOUR, MOMENT, assert_skipped, record, run};
use crate::support::{At, Case, DEADLINE, Proxy, Running, STEADY, Server, op, shared};

/// Starts a command that runs until [`end_job`].
fn job(case: &Case, options: &[&str]) -> Running {
    let go = case.dir().join("go");
    std::fs::remove_file(&go).ok();
    let script = format!("echo running; while ! [ -e '{}' ]; do sleep 0.02; done", go.display());
    let running = case.lock(options, ["sh", "-c", &script]).spawn();
    running.wait_for_stdout("running", DEADLINE);
    running
}

fn end_job(case: &Case) {
    std::fs::write(case.dir().join("go"), "").expect("a file");
}

/// The first success creates the record, which takes two transactions: the first one finds no record.
#[test]
fn a_lost_request_or_reply_records_the_success_once() {
    for (successes, skip, at, says) in [
        (1, 0, At::BeforeServer, "success recorded"),
        (1, 0, At::BeforeReply, "the success may not be recorded"),
        (0, 0, At::BeforeReply, "success recorded"),
        (0, 1, At::BeforeReply, "the success may not be recorded"),
    ] {
        let proxy = Proxy::to(shared());
        let case = Case::new("once-reply").through(&proxy.connect_string());
        for _ in 0..successes {
            run(&case, MOMENT, "true").assert_code(0);
        }
        // With a session timeout of 60 s, confirmations come only every ten seconds.
        let running = job(&case, &[&["-v", "--session-timeout", STEADY], MOMENT].concat());
        let node = format!("{}/{}", case.path(), case.contenders()[0]);
        let token = case.observer().stat(&node).unwrap().czxid;
        proxy.once_after(skip, op::MULTI, at);
        end_job(&case);
        let output = running.wait(DEADLINE);
        proxy.wait_fired(1, DEADLINE);
        output.assert_code(0).assert_stderr(says);
        assert_eq!(case.observer().stat(&record(&case)).unwrap().version, successes, "{skip} {at:?}");
        let data = case.observer().data(&record(&case)).unwrap();
        assert!(data.contains(&format!("\"fencing_token\":{token}")), "{data}");
        assert!(case.contenders().is_empty());
        assert_skipped(&run(&case, HOUR, "echo ran"), 124);
    }
}

/// Lost requests before the command: zklock repeats them, with the same result.
#[test]
fn lost_requests_before_the_command_are_repeated() {
    for ops in [op::SET_DATA, op::GET_DATA] {
        for at in [At::BeforeServer, At::BeforeReply] {
            let proxy = Proxy::to(shared());
            let case = Case::new("once-questions").through(&proxy.connect_string());
            run(&case, HOUR, "true").assert_code(0);
            proxy.once(ops, at);
            assert_skipped(&run(&case, HOUR, "echo ran"), 124);
            proxy.once(ops, at);
            assert_eq!(run(&case, MOMENT, "echo ran").assert_code(0).stdout, "ran\n", "{ops:?} {at:?}");
            proxy.wait_fired(2, DEADLINE);
        }
    }
}

#[test]
fn the_command_s_exit_code_survives_a_dead_server() {
    let server = Server::start();
    let case = Case::on(&server, "once-dead");
    let running = job(&case, &[&["--session-timeout", STEADY], HOUR].concat());
    server.kill();
    end_job(&case);
    running.wait(DEADLINE).assert_code(0).assert_stderr("the success could not be recorded");
    server.restart();
    assert!(!case.observer().exists(&record(&case)));
}
