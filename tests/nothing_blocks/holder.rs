//! Who holds the lock keeps it as long as it can, and then stops its command in time.

use super::{SAYING, Silence, in_every_silence};
use crate::support::{Case, History, Proxy, SOON, Zklock, pass_time, processes_of, shared, wait_until};
use std::time::Duration;

in_every_silence! {
    a_lock_that_is_lost_stops_the_command_before_another_has_it
    a_deleted_node_stops_the_command
    a_healthy_command_keeps_its_lock
}

const SHORT: [&str; 2] = ["--session-timeout", "2"];

#[track_caller]
fn wait_for_sections(history: &History, count: usize) {
    wait_until("the command to run", SOON, || {
        history.sections().is_ok_and(|sections| sections.len() == count)
    });
}

fn a_lock_that_is_lost_stops_the_command_before_another_has_it(silence: Silence) {
    for saying in SAYING {
        let proxy = Proxy::to(shared());
        let case = Case::new("unheard-lost").through(&proxy.connect_string());
        let history = case.history();
        let options = [saying, &SHORT, &["--kill-after", "0.3"]].concat();
        let holder = silence.start(&case, &options, &history.steady_job("first"));
        wait_for_sections(&history, 1);
        let next = Zklock::at(&shared().connect_string(), case.marker());
        let job = history.job("next", 0.3);
        let next = next.arg(case.path()).args(["--", "sh", "-c", &job]).spawn();
        case.wait_for_contenders(2);
        proxy.blackhole();
        next.wait(SOON).assert_code(0);
        assert_eq!(holder.end(SOON), Ok(123), "{saying:?}");
        assert_eq!(history.exclusive_order(), ["first", "next"], "{saying:?}");
        proxy.pass();
    }
}

fn a_deleted_node_stops_the_command(silence: Silence) {
    for saying in SAYING {
        let case = Case::new("unheard-deleted");
        let history = case.history();
        let holder = silence.start(&case, saying, &history.steady_job("first"));
        wait_for_sections(&history, 1);
        let zklock = holder.pid();
        case.observer().delete(&format!("{}/{}", case.path(), case.contenders()[0]));
        // Not at the end of a session: that is 30 s away.
        wait_until("the end of the command", Duration::from_secs(5), || {
            processes_of(case.marker()).iter().all(|(pid, name)| *pid == zklock || !name.starts_with("bash"))
        });
        assert_eq!(holder.end(Duration::from_secs(5)), Ok(123), "{saying:?}");
    }
}

/// Every confirmation is told at length, and a connection that is lost is as well.
fn a_healthy_command_keeps_its_lock(silence: Silence) {
    let proxy = Proxy::to(shared());
    let case = Case::new("unheard-healthy").through(&proxy.connect_string());
    let history = case.history();
    let job = format!("{}; exit 7", history.steady_job("only"));
    let options = ["-vvvv", "--session-timeout", "5", "--kill-after", "0.2"];
    let holder = silence.start(&case, &options, &job);
    wait_for_sections(&history, 1);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    let owner = |stat: zookeeper::Stat| (stat.czxid, stat.ephemeral_owner);
    let before = case.observer().stat(&node).map(owner);
    pass_time(Duration::from_secs(1));
    proxy.cut_all();
    pass_time(Duration::from_secs(6));
    assert_eq!(case.observer().stat(&node).map(owner), before);
    history.finish("only");
    assert_eq!(holder.end(SOON), Ok(7));
    assert!(history.sections().unwrap()[0].ended);
}

/// The start waits for a moment until somebody has read what was said. What comes meanwhile counts.
#[test]
fn a_revoke_that_comes_before_the_start_wins() {
    let revoked_in_time = |attempt| {
        let case = Case::new(&format!("unheard-revoke-{attempt}"));
        let started = case.dir().join("started");
        let script = format!("touch '{}'; sleep 60", started.display());
        let holder = Silence::FullPipe.start(&case, &["-v"], &script);
        case.zklock().args(["-q", "revoke", case.path()]).run().assert_code(0);
        let code = holder.end(SOON);
        assert!(code == Ok(123) || !started.exists(), "{code:?}");
        code == Ok(125)
    };
    assert!(
        (0..5).any(revoked_in_time),
        "the command was started each time, though it was told in half a second"
    );
}
