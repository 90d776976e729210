//! The lock is lost while the command runs: zklock stops the command with all its processes. Whom its first signal reaches is in
//! `signals`.
//!
//! Each test is a table. To add a row, add a line to it.

use crate::support::{
    Case, DEADLINE, Place, STEADY, children_of, command_of, freeze, has_strace, is_alive, is_stopped,
    processes_of, start, thaw, try_rows, wait_for, wait_until, without_lists, worker_of,
};
use nix::sys::signal::{Signal, kill};
use std::fs;
use std::iter;
use std::time::{Duration, Instant};

/// Deletes the lock node of the only contender.
#[track_caller]
fn delete_node(case: &Case) {
    case.wait_for_contenders(1);
    case.delete_node(0);
}

const DEAF: &str = "for name in INT TERM USR1; do trap \"echo got $name\" $name; done; echo ready; while :; do sleep 0.05; done";
const ENDS: &str = "for name in INT TERM HUP USR1; do trap \"echo got $name; kill \\$!; exit 5\" $name; done; sleep 60 & echo ready; wait";
const ENDS_WELL: &str = "trap 'exit 0' TERM; sleep 60 & echo ready; wait";

/// The options, the command, what it prints after `ready`, what zklock says, and for how many seconds KILL waits.
type Row = (&'static [&'static str], &'static str, &'static str, &'static [&'static str], u64);

const LOST: &str = "the lock was lost; bash was stopped";
const TOLD_ONCE: &str =
    ": the lock was lost: its node was deleted by another client or with its session; bash was";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&["--kill-after", "60"],                    ENDS,      "got TERM\n", &[LOST], 0),
    (&["--kill-after", "60", "--signal", "INT"], ENDS,      "got INT\n",  &[LOST], 0),
    (&["--signal", "SIGUSR1"],                   ENDS,      "got USR1\n", &[LOST], 0),
    (&["--signal", "1"],                         ENDS,      "got HUP\n",  &[LOST], 0),
    (&[],                                        ENDS_WELL, "",           &[LOST], 0),
    (&["--kill-after", "3"],                     DEAF,      "got TERM\n", &["; bash is being stopped: TERM now, KILL in 3 s\n", LOST], 3),
    (&["--kill-after", "1", "--signal", "USR1"], DEAF,      "got USR1\n", &["; bash is being stopped: USR1 now, KILL in 1 s\n", LOST], 1),
    (&["--kill-after", "0"],                     DEAF,      "",           &["; bash is being stopped: KILL now\n", LOST], 0),
    (&["-q", "--kill-after", "0"],               DEAF,      "",           &[TOLD_ONCE], 0),
];

#[test]
fn a_lost_lock_ends_the_command_with_the_grace_and_the_reason_that_are_told() {
    try_rows(ROWS.iter().copied(), try_row);
}

fn try_row((options, command, prints, says, least): Row) {
    let case = Case::new("lost");
    let running = start(&case, options, command);
    let began = Instant::now();
    delete_node(&case);
    let output = running.wait(DEADLINE);
    output.assert_code(123).assert_stderr(case.path());
    for text in says {
        output.assert_stderr(text);
    }
    assert_eq!(output.stderr.matches("deleted by another client").count(), 1, "{output}");
    assert!(!options.contains(&"-q") || output.stderr.lines().count() == 1, "{output}");
    assert_eq!(output.stdout, format!("ready\n{prints}"), "{options:?}");
    let bounds = Duration::from_secs(least)..Duration::from_secs(20);
    assert!(bounds.contains(&began.elapsed()), "{options:?}: {:?}", began.elapsed());
}

/// A grace in which everything ends by the first signal.
const LONG: &str = "50";

/// The grace in seconds, the command, and how many processes that has beside its shell.
#[rustfmt::skip]
const DESCENDANTS: &[(&str, &str, usize)] = &[
    (LONG, "echo ready; sleep 61 | sleep 62 | sleep 63; :", 3),
    ("0.5", "(trap '' TERM; echo ready; while :; do sleep 0.05; done) & wait", 1),
    (LONG, "(sleep 61 & sleep 62 &) ; echo ready; sleep 63; :", 3),
    (LONG, "setsid sleep 61 & setsid setsid sleep 62 & echo ready; sleep 63; :", 3),
    ("0.5", "(setsid bash -c 'trap \"\" TERM HUP; while :; do sleep 0.05; done' &) ; echo ready; sleep 63; :", 2),
    (LONG, "sleep 61 & kill -STOP $!; setsid bash -c 'kill -STOP $$; sleep 62; :' & echo ready; sleep 63; :", 3),
    // They outlive the command, and fork fast.
    ("0.5", "trap 'exit 0' TERM; setsid bash -c \"trap '' TERM; while :; do sleep 0.05; done\" & echo ready; sleep 61 & wait", 2),
    ("0.5", "forks() { trap '' TERM; while :; do sleep 0.01; done; }; for i in 1 2 3 4; do (forks & forks) & done; echo ready; wait", 8),
];

#[test]
fn a_stop_ends_every_descendant() {
    let places = [Place::Plain, Place::Terminal];
    let rows = places.into_iter().flat_map(|place| DESCENDANTS.iter().map(move |row| (place, *row, "")));
    // What misses them then shows in two of five tries.
    let late = iter::repeat_n((Place::Terminal, ENDS_LATE, LATE_LOOKS), if has_strace() { 5 } else { 0 });
    try_rows(rows.chain(late), assert_all_gone);
}

/// The first process ends while zklock looks for the others, which therefore change their parent.
const ENDS_LATE: (&str, &str, usize) = (
    LONG,
    "trap 'for ((i = 0; i < 2000; i++)); do :; done; exit' TERM; sleep 61 & sleep 62 & echo ready; wait",
    2,
);
const LATE_LOOKS: &str = "exec strace -f -qq -o /dev/null -e inject=openat:delay_enter=20000 \"$0\" \"$@\"";

fn assert_all_gone((place, (grace, script, processes), prelude): (Place, (&str, &str, usize), &str)) {
    let case = Case::new("descendants");
    // KILL comes at the end of the lease at the latest: here that is far away.
    let options = ["--session-timeout", STEADY, "--kill-after", grace];
    let zklock = case.lock(&options, ["bash", "-c", script]);
    let running = place.start(if prelude.is_empty() { zklock } else { zklock.prelude(prelude) });
    running.wait_for("ready");
    // Plus zklock, its worker, the script's own shell, and strace.
    let processes = processes + 3 + usize::from(!prelude.is_empty());
    wait_until("the whole job", DEADLINE, || processes_of(case.marker()).len() >= processes);
    let marked = processes_of(case.marker());
    let began = Instant::now();
    delete_node(&case);
    let output = running.wait();
    assert!(grace != LONG || began.elapsed() < Duration::from_secs(40), "KILL ended it: {output}");
    for (pid, name) in marked {
        assert!(!is_alive(pid), "{name} outlived zklock: {output}");
    }
    output.assert_code(123).assert_stderr("the lock was lost");
    assert!(output.closed, "{output}");
}

/// The kernel shows the process as a zombie, but its other thread still works.
#[test]
fn a_stop_ends_a_child_whose_first_thread_has_ended() {
    let script = "import ctypes, threading, time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); \
                  threading.Thread(target=lambda: time.sleep(60)).start(); \
                  ctypes.CDLL(None).pthread_exit(None)";
    let script = format!(
        "python3 -c '{script}' & child=$!; \
                  until grep -q 'State:.Z' /proc/$child/status; do sleep 0.01; done; echo ready $child; wait"
    );
    let case = Case::new("headless");
    let running = start(&case, &["--kill-after", "1"], &script);
    let line = running.wait_for_stdout("ready", DEADLINE);
    let child = line["ready ".len()..].to_owned();
    delete_node(&case);
    running.wait(DEADLINE).assert_code(123);
    let threads = fs::read_dir(format!("/proc/{child}/task")).map_or(0, Iterator::count);
    assert!(threads < 2, "{threads} threads of {child} are left");
}

#[test]
fn background_processes_that_the_command_leaves_are_not_stopped() {
    let case = Case::new("left-alone");
    let script = "setsid sleep 61 >/dev/null 2>&1 & sleep 62 >/dev/null 2>&1 & exit 3";
    let output = case.lock(&[], ["bash", "-c", script]).run();
    output.assert_code(3);
    assert!(output.closed, "{output}");
    assert_eq!(case.contenders(), [""; 0]);
    // A process that just begins its program isn't found for a moment.
    let both = || Some(processes_of(case.marker())).filter(|left| left.len() == 2);
    for (pid, name) in wait_for("both of them", DEADLINE, both) {
        assert!(is_alive(pid), "{name}");
        assert_eq!(children_of(pid), []);
        kill(pid, Signal::SIGKILL).expect("a process to clean up");
    }
}

/// As one that was built without `CONFIG_PROC_CHILDREN`.
#[test]
fn a_kernel_that_lists_no_children_is_refused_before_anything_is_started() {
    let case = Case::new("unlisted");
    let output = case.lock(&[], ["echo", "ran"]).env("LD_PRELOAD", without_lists(case.dir())).run();
    output
        .assert_code(125)
        .assert_stdout("")
        .assert_stderr("zklock needs a kernel with CONFIG_PROC_CHILDREN");
    assert!(!case.observer().exists(case.path()));
}

/// Other contenders don't have to wait until the monitor is continued.
#[test]
fn a_frozen_monitor_blocks_no_other_contender() {
    let case = Case::new("frozen-monitor-end");
    let go = case.dir().join("go");
    let script = format!("echo ready; until [ -e {} ]; do sleep 0.02; done; exit 3", go.display());
    let running = start(&case, &[], &script);
    let next = case.lock(&["-v"], ["echo", "ran"]).spawn();
    next.wait_for_line(": position ", DEADLINE);
    freeze(running.pid());
    fs::write(go, "").expect("a file");
    assert_eq!(next.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    assert!(is_stopped(running.pid()));
    thaw(running.pid());
    running.wait(DEADLINE).assert_code(3);
}

/// As when a container is paused or a laptop sleeps: neither process could act in time. The result doesn't depend on
/// which of them continues first.
#[test]
fn a_frozen_command_is_killed_before_it_can_continue_without_the_lock() {
    for monitor_first in [true, false] {
        let case = Case::new("all-frozen");
        let file = case.dir().join("writes");
        let script = format!(
            "trap 'echo TERM >> {0}' TERM; trap 'echo CONT >> {0}' CONT; echo alive >> {0}; echo ready; \
             while :; do echo alive >> {0}; done",
            file.display()
        );
        let running = start(&case, &["--session-timeout", "3", "--kill-after", "1"], &script);
        let command = command_of(running.pid());
        let worker = worker_of(running.pid());
        for pid in [running.pid(), worker, command] {
            freeze(pid);
        }
        let writes = || fs::read_to_string(&file).expect("the file");
        let before = writes();
        let frozen_since = Instant::now();
        wait_until("the session's end", DEADLINE, || {
            frozen_since.elapsed() > Duration::from_secs(3) && case.contenders().is_empty()
        });
        if !monitor_first {
            thaw(worker);
            wait_until("the end of the command", DEADLINE, || !is_alive(command));
        }
        thaw(running.pid());
        let output = running.wait(DEADLINE);
        output.assert_code(123);
        assert_eq!(writes().len(), before.len(), "it continued after the lock was lost: {output}");
    }
}
