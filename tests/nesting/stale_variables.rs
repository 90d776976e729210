//! Variables of a released lock, which a daemon that the command started inherits.

use nix::sys::signal::{Signal, kill};

use super::{HOLD, end, inner, outer, shell, start, value, words};
use crate::support::{Case, DEADLINE, wait_until, worker_of};

/// The value of `ZKLOCK_HELD` for a command that has ended.
fn held_by_ended_command(case: &Case) -> String {
    let output = outer(case, &[], &[shell("env")]).run();
    value(&output.assert_code(0).stdout, "ZKLOCK_HELD").to_owned()
}

#[test]
fn variables_of_a_released_lock_are_ignored() {
    let case = Case::new("stale");
    let held = held_by_ended_command(&case);
    let running = start(case.lock(&[], shell(HOLD)).env("ZKLOCK_HELD", &held));
    assert_eq!(case.contenders().len(), 1, "a node of its own");
    case.lock(&["-n"], ["true"]).env("ZKLOCK_HELD", &held).run().assert_code(124);
    let waiter = case.lock(&["-v"], ["true"]).env("ZKLOCK_HELD", &held).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    end(running);
    waiter.wait(DEADLINE).assert_code(0);
}

#[test]
fn stale_variables_do_no_harm_inside_a_new_lock() {
    let case = Case::new("stale-inside");
    let held = held_by_ended_command(&case);
    let parts = [inner(&case, &["-n"]), inner(&case, &["-n"]), shell("exit 9")];
    outer(&case, &[], &parts).env("ZKLOCK_HELD", &held).run().assert_code(9);
}

#[test]
fn a_daemon_that_outlives_the_lock_queues_for_it() {
    let case = Case::new("daemon");
    let (go, done) = (case.dir().join("go"), case.dir().join("done"));
    let daemon = format!(
        "until [ -e {} ]; do sleep 0.01; done; \"$@\" 2> {}.err; echo $? > {}",
        go.display(),
        done.display(),
        done.display(),
    );
    let script = format!("setsid sh -c '{daemon}' sh \"$@\" </dev/null >/dev/null 2>&1 & exit 0");
    let words = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    outer(&case, &[], &[words, inner(&case, &["-n"]), shell("true")]).run().assert_code(0);
    let holder = case.holder();
    std::fs::write(go, "").unwrap();
    wait_until("the daemon to be done", DEADLINE, || {
        std::fs::read_to_string(&done).is_ok_and(|code| code == "124\n")
    });
    end(holder);
}

/// The command in the background waits for another lock meanwhile.
#[test]
fn a_lock_that_is_released_around_a_waiter_is_not_taken_for_held() {
    let case = Case::new("released-around");
    let (go, ran, other) = (case.dir().join("go"), case.dir().join("ran"), format!("{}-b", case.path()));
    let holder = case.zklock().args([&other, "--", "sleep", "60"]).spawn();
    case.observer().wait_for_contenders(&other, 1, DEADLINE);
    let inner = words(case.hosts(), &[], &[case.path(), &other]);
    let inner = format!("'{}'", inner.join("' '"));
    let script = format!(
        "{inner} touch {ran} & until [ -e {go} ]; do sleep 0.01; done",
        ran = ran.display(),
        go = go.display()
    );
    let running = outer(&case, &[], &[shell(&script)]).spawn();
    case.observer().wait_for_contenders(&other, 2, DEADLINE);
    std::fs::write(&go, "").unwrap();
    case.wait_for_contenders(0);
    end(holder);
    let output = running.wait(DEADLINE);
    output.assert_code(0).assert_stderr("was held by a surrounding zklock, which has ended since");
    assert!(!ran.exists());
}

#[test]
fn malformed_variables_are_ignored() {
    for text in ["", "garbage", "{}", "[1]", r#"[{"path":"/x"}]"#] {
        let case = Case::new("garbage");
        case.lock(&[], ["true"]).env("ZKLOCK_HELD", text).run().assert_code(0);
    }
}

/// The node is still there, but this zklock isn't below its holder: the variable was inherited elsewhere.
#[test]
fn a_lock_that_is_not_held_above_is_queued_for() {
    let case = Case::new("beside");
    let running = outer(&case, &[], &[shell("echo \"$ZKLOCK_HELD\"; exec sleep 60")]).spawn();
    let held = running.wait_for_stdout("[{", DEADLINE);
    case.lock(&["-n"], ["true"]).env("ZKLOCK_HELD", held).run().assert_code(124);
    end(running);
}

/// Both processes of the outer zklock are killed at once; its node stays for the session timeout.
#[test]
fn a_daemon_whose_zklock_was_killed_queues_for_the_lock() {
    let case = Case::new("killed-outer");
    let [ready, go, done] = ["ready", "go", "done"].map(|name| case.dir().join(name).display().to_string());
    let daemon = format!(": > {ready}; until [ -e {go} ]; do sleep 0.01; done; \"$@\"; echo $? > {done}");
    // A daemon that hasn't left the group yet would die with it.
    let script = format!(
        "setsid -f sh -c '{daemon}' sh \"$@\" </dev/null >/dev/null 2>&1; until [ -e {ready} ]; do sleep 0.01; done; {HOLD}"
    );
    let words = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    let parts = [words, inner(&case, &["-n"]), shell("true")];
    // The session of the killed one outlives the daemon.
    let running = start(outer(&case, &["--session-timeout", "60"], &parts));
    let worker = worker_of(running.pid());
    // A monitor that isn't stopped could end the daemon before it is killed.
    kill(running.pid(), Signal::SIGSTOP).unwrap();
    kill(worker, Signal::SIGKILL).unwrap();
    kill(running.pid(), Signal::SIGKILL).unwrap();
    std::fs::write(go, "").unwrap();
    wait_until("the daemon to be done", DEADLINE, || {
        std::fs::read_to_string(&done).is_ok_and(|code| code == "124\n")
    });
    case.observer().delete(&format!("{}/{}", case.path(), case.contenders()[0]));
}

/// The path and the node exist, but the node isn't the one in the variable: another czxid, or another session.
#[test]
fn a_node_with_the_old_name_but_another_identity_does_not_count_as_held() {
    for field in ["fencing_token", "session"] {
        let case = Case::new("forged");
        let script = format!(
            "ZKLOCK_HELD=$(echo \"$ZKLOCK_HELD\" | sed 's/\"{field}\":[0-9]*/\"{field}\":1/'); export ZKLOCK_HELD; \"$@\""
        );
        let words = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        outer(&case, &[], &[words, inner(&case, &["-n"]), shell("true")]).run().assert_code(124);
    }
}
