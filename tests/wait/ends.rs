//! When a wait ends, and with which exit code.

use super::{assert_free, end, holder, queue, wait, waiting};
use crate::support::{Case, DEADLINE};
use std::fs;
use std::time::Duration;

#[test]
fn a_free_lock_ends_the_wait_at_once_and_nothing_is_created() {
    let case = Case::new("wait-free");
    for options in [&[][..], &["-n"], &["-w", "0"], &["-w", "60"], &["-q"]] {
        let output = wait(&case, &[options, &[case.path()]].concat()).run();
        assert_eq!((output.assert_code(0).stdout.as_str(), output.stderr.as_str()), ("", ""));
    }
    assert!(!case.observer().exists(case.path()), "not even the parent");
    case.observer().mkdirs(case.path());
    wait(&case, &[case.path()]).run().assert_code(0);
}

#[test]
fn it_waits_for_those_that_hold_and_queue_and_not_for_those_that_come_later() {
    let case = Case::new("wait-queue");
    let (first, second) = (holder(&case, &[]), queue(&case, &[]));
    let waits = waiting(&case, &[], 2);
    let later = queue(&case, &[]);
    end(first);
    second.wait_for_stdout("running", DEADLINE);
    assert!(waits.is_running());
    end(second);
    later.wait_for_stdout("running", DEADLINE);
    assert_free(waits);
    wait(&case, &["-n", case.path()]).run().assert_code(124);
    end(later);
}

#[test]
fn a_waiter_that_gives_up_is_not_waited_for() {
    let case = Case::new("wait-left");
    let (first, second, third) = (holder(&case, &[]), queue(&case, &[]), queue(&case, &[]));
    let waits = waiting(&case, &[], 3);
    end(third);
    waits.wait_for_line(", 2 ahead", DEADLINE);
    end(first);
    second.wait_for_stdout("running", DEADLINE);
    end(second);
    assert_free(waits);
}

/// As GNU parallel's `sem --wait` does.
#[test]
fn all_slots_and_all_readers_must_be_free() {
    for options in [&["--slots", "2"][..], &["-s"]] {
        for first in [0, 1] {
            let case = Case::new("wait-shared");
            let mut holders = vec![holder(&case, options), holder(&case, options)];
            let waits = waiting(&case, &[], 2);
            end(holders.remove(first));
            case.wait_for_contenders(1);
            assert!(waits.is_running());
            holders.into_iter().for_each(end);
            assert_free(waits);
        }
    }
}

#[test]
fn several_locks_are_awaited_together_and_a_path_may_be_named_twice() {
    let (case, other) = (Case::new("wait-several"), Case::new("wait-several-other"));
    let (one, two) = (holder(&case, &[]), holder(&other, &[]));
    let paths = [other.path(), case.path(), "/t/nobody", other.path()];
    let waits = wait(&case, &[&["-v"], &paths[..]].concat()).spawn();
    waits.wait_for_line(&format!("{}: waiting for", other.path()), DEADLINE);
    // A contender that comes later on the second lock, which isn't watched yet, doesn't count.
    let later = queue(&case, &[]);
    end(one);
    later.wait_for_stdout("running", DEADLINE);
    wait(&case, &[&["-n"], &paths[..]].concat()).run().assert_code(124);
    assert!(waits.is_running());
    end(two);
    let output = assert_free(waits);
    assert_eq!(output.stderr.matches(&format!("{}: free", other.path())).count(), 1, "{output}");
    end(later);
}

#[test]
fn a_busy_lock_gives_the_code_of_a_busy_lock() {
    let case = Case::new("wait-busy");
    let first = holder(&case, &["--label", "migration"]);
    // They run at the same time, so that a busy machine has long to see in each that the lock is busy.
    let runs = [
        (&["-n"][..], 124, "busy: held by"),
        (&["--nonblock", "-w", "60"], 124, "busy: held by"),
        (&["-w", "0"], 124, "busy: held by"),
        (&["-n", "-E", "0"], 0, "busy: held by"),
        (&["-w", "6"], 124, "busy: gave up after "),
        (&["--timeout", "6.5s", "-E", "7"], 7, "busy: gave up after "),
        (&["-n", "-q"], 124, ""),
    ]
    .map(|(options, code, said)| (wait(&case, &[options, &[case.path()]].concat()).spawn(), code, said));
    for (run, code, said) in runs {
        let output = run.wait(DEADLINE);
        output.assert_code(code).assert_stderr(said);
        assert_eq!(output.stderr.contains(" (migration)"), !said.is_empty(), "{output}");
        assert!(output.elapsed < Duration::from_secs(25), "{:?}", output.elapsed);
    }
    // As before a lock.
    case.zklock().args(["-n", "-E", "3", "wait", case.path()]).run().assert_code(3);
    let config = case.dir().join("zklock.toml");
    fs::write(&config, "timeout = 6\nconflict-exit-code = 9\n").unwrap();
    let config = config.to_str().unwrap();
    let configured = wait(&case, &["--config", config, case.path()]).spawn();
    let overridden = wait(&case, &["--config", config, "-E", "8", case.path()]).spawn();
    configured.wait(DEADLINE).assert_code(9).assert_stderr("gave up after");
    overridden.wait(DEADLINE).assert_code(8);
    end(first);
}

#[test]
fn the_session_timeout_may_be_before_and_behind_wait() {
    let case = Case::new("wait-session-timeout");
    for (before, behind, granted) in [
        (&["--session-timeout", "17"][..], &[][..], 17),
        (&[], &["--session-timeout", "17"], 17),
        (&["--session-timeout", "17"], &["--session-timeout", "18s"], 18),
    ] {
        let output = case.zklock().args(before).args(["wait", "-vv"]).args(behind).arg(case.path()).run();
        output.assert_code(0).assert_stderr(&format!("timeout={granted}000ms"));
    }
}

/// Behind a holder that changed meanwhile, which is read before the message.
#[test]
fn the_message_names_the_present_holder() {
    let case = Case::new("wait-holder");
    let (first, second, third) =
        (holder(&case, &[]), queue(&case, &["--label", "present"]), queue(&case, &["--label", "last"]));
    let waits = waiting(&case, &["-w", "10"], 3);
    end(first);
    second.wait_for_stdout("running", DEADLINE);
    let output = waits.wait(DEADLINE);
    output.assert_code(124).assert_stderr("busy: gave up after ").assert_stderr(" (present)\n");
    [third, second].into_iter().for_each(end);
}

/// Otherwise `-w 5 -E 0` would hide servers that are down.
#[test]
fn servers_that_are_not_reached_are_a_failure_whatever_the_options_say() {
    let case = Case::new("wait-unreachable");
    for (options, said) in [
        (
            &["-w", "0.4", "-E", "0"][..],
            "no ZooKeeper server could be reached within 400ms; allow more time with -w",
        ),
        (&["--connect-timeout", "0.3"], "within 300ms; allow more time with --connect-timeout"),
        (&["-n", "-E", "0"], "no ZooKeeper server could be reached; "),
    ] {
        let output = case.zklock().args(["-z", "127.0.0.1:1", "wait"]).args(options).arg(case.path()).run();
        output.assert_code(125).assert_stderr(case.path()).assert_stderr(said);
        assert!(output.elapsed < Duration::from_secs(8), "{:?}", output.elapsed);
    }
    let nowhere = format!("{}/nope", case.hosts());
    for options in [&[][..], &["-n"]] {
        let output = case.zklock().args(["-z", &nowhere, "wait"]).args(options).arg(case.path()).run();
        output.assert_code(125).assert_stderr("the chroot /nope of the connect string doesn't exist");
    }
}

#[test]
fn a_word_that_is_no_path_is_refused_and_a_path_can_be_called_wait() {
    let case = Case::new("wait-words");
    wait(&case, &[]).run().assert_code(125).assert_stderr("see 'zklock wait --help'");
    wait(&case, &["job"]).run().assert_code(125).assert_stderr("a lock path begins with '/'");
    let path = format!("{}-paths/wait", case.path());
    wait(&case, &[&path]).run().assert_code(0);
    case.zklock().args([&path, "echo", "wait"]).run().assert_code(0).assert_stdout("wait\n");
}
