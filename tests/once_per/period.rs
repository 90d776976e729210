//! When the command runs and when it is skipped.

use super::{HOUR, MOMENT, assert_skipped, record, run};
use crate::support::{Case, DEADLINE, host};

#[test]
fn the_command_is_skipped_within_the_period_and_runs_after_it() {
    let case = Case::new("once");
    assert_eq!(run(&case, HOUR, "echo ran").assert_code(0).stdout, "ran\n");
    for _ in 0..2 {
        assert_skipped(&run(&case, HOUR, "echo ran"), 124);
    }
    assert_eq!(run(&case, MOMENT, "echo ran").assert_code(0).stdout, "ran\n");
    assert_skipped(&run(&case, HOUR, "echo ran"), 124);
    assert_eq!(
        run(&case, &[], "echo ran").assert_code(0).stdout,
        "ran\n",
        "a run without --once-per is never skipped"
    );
}

#[test]
fn a_skip_is_explained_and_has_the_exit_code_of_a_busy_lock() {
    let case = Case::new("once-code");
    run(&case, HOUR, "true").assert_code(0);
    for (options, code) in [
        (&[][..], 124),
        (&["-E", "0"], 0),
        (&["-E", "7"], 7),
        (&["-n"], 124),
        (&["-n", "-E", "3"], 3),
        (&["-w", "15"], 124),
    ] {
        let output = run(&case, &[options, HOUR].concat(), "echo ran");
        assert_skipped(&output, code);
        output
            .assert_stderr(case.path())
            .assert_stderr(&format!(" ago on {}, and once per 1h is enough", host()));
    }
    let output = run(&case, &[&["-q", "-E", "0"], HOUR].concat(), "echo ran");
    assert_eq!((&*output.assert_code(0).stdout, &*output.stderr), ("", ""));
}

#[test]
fn a_failed_command_runs_again_within_the_period() {
    let case = Case::new("once-failed");
    for failure in ["exit 3", "exit 255"] {
        let code = failure.rsplit(' ').next().unwrap().parse().unwrap();
        run(&case, HOUR, failure).assert_code(code);
    }
    run(&case, HOUR, "kill -TERM $$").assert_signal(nix::sys::signal::Signal::SIGTERM);
    case.lock(HOUR, ["/nosuch/program"]).run().assert_code(127);
    assert!(!case.observer().exists(&record(&case)));
    assert_eq!(run(&case, HOUR, "echo ran").assert_code(0).stdout, "ran\n");
    // A failure after a success doesn't change the record.
    run(&case, MOMENT, "exit 1").assert_code(1);
    assert_skipped(&run(&case, HOUR, "echo ran"), 124);
}

/// Two hosts' cron starts in the same minute.
#[test]
fn a_waiter_skips_a_command_that_succeeded_meanwhile() {
    let case = Case::new("once-two");
    for (end, expected) in [("exit 4", "ran\n"), ("exit 0", "")] {
        let go = case.dir().join(format!("go {end}"));
        let job = format!("echo running; while ! [ -e '{}' ]; do sleep 0.02; done; {end}", go.display());
        let first = case.lock(MOMENT, ["sh", "-c", &job]).spawn();
        first.wait_for_stdout("running", DEADLINE);
        // With `-n` the lock is busy, and the record isn't read.
        run(&case, &[&["-n"], HOUR].concat(), "echo ran").assert_code(124).assert_stderr("busy: held by");
        let second = case.lock(HOUR, ["echo", "ran"]).spawn();
        case.wait_for_contenders(2);
        std::fs::write(&go, "").unwrap();
        first.wait(DEADLINE);
        let second = second.wait(DEADLINE);
        assert_eq!(second.stdout, expected, "{second}");
        if expected.is_empty() {
            assert_skipped(&second, 124);
        } else {
            // The second contender's success must not count in the next round.
            case.observer().delete(&record(&case));
        }
    }
}
