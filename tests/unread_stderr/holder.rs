//! A holder keeps its lock as long as it can, and then stops its command in time.

use super::{EXIT_LIMIT, UnreadStderr, VERBOSITIES, for_each_unread_stderr};
use crate::support::{
    Case, DEADLINE, History, Proxy, Zklock, pass_time, processes_of, shared, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use std::time::Duration;

for_each_unread_stderr! {
    a_lost_lock_stops_the_command_before_another_contender_holds_it
    a_deleted_node_stops_the_command
    a_healthy_command_keeps_its_lock
    a_killed_worker_s_node_is_gone_at_once
}

const SHORT: [&str; 2] = ["--session-timeout", "3"];

#[track_caller]
fn wait_for_sections(history: &History, count: usize) {
    wait_until("the command to run", DEADLINE, || {
        history.sections().is_ok_and(|sections| sections.len() == count)
    });
}

fn a_lost_lock_stops_the_command_before_another_contender_holds_it(stderr: UnreadStderr) {
    for verbosity in VERBOSITIES {
        let proxy = Proxy::to(shared());
        let case = Case::new("unheard-lost").through(&proxy.connect_string());
        let history = case.history();
        let options = [verbosity, &SHORT, &["--kill-after", "0.3"]].concat();
        let holder = stderr.start(&case, &options, &history.steady_job("first"));
        wait_for_sections(&history, 1);
        let next = Zklock::at(&shared().connect_string(), case.marker());
        let job = history.job("next", 0.3);
        let next = next.arg(case.path()).args(["--", "sh", "-c", &job]).spawn();
        case.wait_for_contenders(2);
        proxy.blackhole();
        next.wait(DEADLINE).assert_code(0);
        assert_eq!(holder.end(DEADLINE), Ok(123), "{verbosity:?}");
        assert_eq!(history.exclusive_order(), ["first", "next"], "{verbosity:?}");
        proxy.pass();
    }
}

fn a_deleted_node_stops_the_command(stderr: UnreadStderr) {
    for verbosity in VERBOSITIES {
        let case = Case::new("unheard-deleted");
        let history = case.history();
        let holder = stderr.start(&case, verbosity, &history.steady_job("first"));
        wait_for_sections(&history, 1);
        let zklock = holder.pid();
        case.delete_node(0);
        // Long before the end of the session, which is 30 s away.
        wait_until("the end of the command", Duration::from_secs(20), || {
            processes_of(case.marker()).iter().all(|(pid, name)| *pid == zklock || !name.starts_with("bash"))
        });
        assert_eq!(holder.end(EXIT_LIMIT), Ok(123), "{verbosity:?}");
    }
}

/// The monitor cleans up before it says what happened.
fn a_killed_worker_s_node_is_gone_at_once(stderr: UnreadStderr) {
    for verbosity in VERBOSITIES {
        let case = Case::new("unheard-killed");
        let history = case.history();
        let holder = stderr.start(&case, verbosity, &history.steady_job("first"));
        wait_for_sections(&history, 1);
        kill(worker_of(holder.pid()), Signal::SIGKILL).expect("a worker");
        // Long before the end of the session, which is 30 s away.
        case.observer().wait_for_contenders(case.path(), 0, Duration::from_secs(20));
        assert_eq!(holder.end(EXIT_LIMIT), Ok(123), "{verbosity:?}");
    }
}

/// With `-vvvv`, every confirmation and every lost connection is logged at length.
fn a_healthy_command_keeps_its_lock(stderr: UnreadStderr) {
    let proxy = Proxy::to(shared());
    let case = Case::new("unheard-healthy").through(&proxy.connect_string());
    let history = case.history();
    let job = format!("{}; exit 7", history.steady_job("only"));
    let options = ["-vvvv", "--session-timeout", "7", "--kill-after", "0.2"];
    let holder = stderr.start(&case, &options, &job);
    wait_for_sections(&history, 1);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    let owner = |stat: zookeeper::Stat| (stat.czxid, stat.ephemeral_owner);
    let before = case.observer().stat(&node).map(owner);
    pass_time(Duration::from_secs(1));
    proxy.cut_all();
    pass_time(Duration::from_secs(8));
    assert_eq!(case.observer().stat(&node).map(owner), before);
    history.finish("only");
    assert_eq!(holder.end(DEADLINE), Ok(7));
    assert!(history.sections().unwrap()[0].ended);
}

/// The start waits a moment for messages to be written. A revoke in this time must prevent it.
#[test]
fn a_revoke_before_the_start_prevents_the_command() {
    let revoked_in_time = |attempt| {
        let case = Case::new(&format!("unheard-revoke-{attempt}"));
        let started = case.dir().join("started");
        let script = format!("touch '{}'; sleep 60", started.display());
        let holder = UnreadStderr::FullPipe.start(&case, &["-v"], &script);
        case.zklock().args(["-q", "revoke", case.path()]).run().assert_code(0);
        let code = holder.end(DEADLINE);
        assert!(code == Ok(123) || !started.exists(), "{code:?}");
        code == Ok(125)
    };
    assert!(
        (0..5).any(revoked_in_time),
        "the command was started each time, although the revoke took half a second"
    );
}
