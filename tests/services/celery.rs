//! A celery worker: its first process ends the others when they have finished their tasks, unless they get TERM as well.

use super::{PYTHON, SINGLE, clear, go, has, has_come, python, serve, with_helpers};
use crate::support::{Case, DEADLINE, Running, Zklock, wait_until};
use nix::sys::signal::Signal;
use std::path::Path;

const LOST: &str = "exited with 'signal 15 (SIGTERM)'";
const SHUTS_DOWN: &str = "Warm shutdown";

/// A worker that has begun a task.
#[track_caller]
fn worker(case: &Case, options: Option<&[&str]>) -> Running {
    clear(case);
    let queue = ["-c", "import celery_task; celery_task.wait.delay()"];
    let queued = Zklock::bare(case.marker()).program(Path::new(PYTHON)).args(queue);
    with_helpers(case, queued).run().assert_code(0);
    let few = ["--concurrency", "1", "--without-gossip", "--without-mingle", "--without-heartbeat"];
    let worker =
        python("celery", &[&["--app", "celery_task", "worker", "--loglevel", "warning"], &few[..]].concat());
    let running = serve(case, options, &worker).spawn();
    wait_until("the task to begin", DEADLINE, || has_come(case, "begun"));
    running
}

#[test]
fn term_lets_a_bare_worker_and_a_single_child_finish_their_tasks() {
    if !has("celery") {
        return;
    }
    let case = Case::new("celery-finishes");
    for options in [None, Some(SINGLE)] {
        let running = worker(&case, options);
        running.signal(Signal::SIGTERM);
        running.wait_for_stdout(SHUTS_DOWN, DEADLINE);
        go(&case);
        let output = running.wait(DEADLINE);
        output.assert_code(0);
        assert!(has_come(&case, "done") && !output.stderr.contains(LOST), "{output}");
    }
}

#[test]
fn term_to_the_whole_group_loses_the_task() {
    if !has("celery") {
        return;
    }
    let case = Case::new("celery-loses");
    let running = worker(&case, Some(&[]));
    running.signal(Signal::SIGTERM);
    running.wait_for_line(LOST, DEADLINE);
    // On a busy host, its first process now waits forever for a replacement that it has itself killed for being slow.
    running.signal(Signal::SIGKILL);
    let output = running.wait(DEADLINE);
    assert!(!has_come(&case, "done"), "{output}");
}

#[test]
fn a_revoked_worker_finishes_its_task_within_the_grace_and_no_later() {
    if !has("celery") {
        return;
    }
    let case = Case::new("celery-revoked");
    for (grace, finishes) in [("60", true), ("1", false)] {
        let running = worker(&case, Some(&["--single-child", "--kill-after", grace]));
        case.zklock().args(["revoke", case.path()]).run().assert_code(0);
        if finishes {
            running.wait_for_stdout(SHUTS_DOWN, DEADLINE);
            go(&case);
        }
        let output = running.wait(DEADLINE);
        output.assert_code(123);
        assert_eq!(has_come(&case, "done"), finishes, "{output}");
    }
}
