//! A process of zklock or of its command is killed or frozen. Whatever it is, and whenever it comes: no process of the command is
//! left when the next contender runs, and the lock is free long before its session ends. Unrelated children, as in
//! `helper & exec zklock`, which zklock inherits, live on.
//!
//! A row is zklock's options, what happens and when, how zklock ends, and what it says. To add one, add a line to [`ROWS`].

use super::HAND_OFF;
use crate::support::{
    At, Case, DEADLINE, Held, Hung, Output, Proxy, Running, Server, WORKER, children_of, command_of, end,
    freeze, is_alive, is_stopped, op, processes_of, shared, status_of, try_rows, wait_for, wait_until,
    worker_of,
};
use nix::sys::signal::Signal::{self, SIGCONT, SIGINT, SIGKILL, SIGTERM};
use nix::sys::signal::{kill, killpg};
use nix::unistd::{Pid, getsid};
use std::any::Any;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    KillMonitor,
    KillWorker,
    /// The process group of one.
    KillMonitorGroup,
    KillWorkerGroup,
    /// At once: neither acts on the death of the other. Only the kernel is left, which ends the command's group.
    KillBoth,
    /// The first process of the command.
    KillCommand,
    /// As `pkill -9 -f nightly.sh` does.
    KillMonitorAndCommand,
    /// Of a zklock that is the command.
    KillInnerMonitor,
    KillInnerWorker,
    FreezeWorker,
    /// Then zklock gets this signal.
    FreezeWorkerAndSend(Signal),
    /// The worker is frozen, and when the monitor kills it, it isn't dead for long: only then the monitor inherits its
    /// children.
    FreezeDyingWorker,
    /// The worker's loop hangs, as in a system call that doesn't return, and the monitor is killed. The server grants session
    /// timeouts of 5 s.
    HangWorkerKillMonitor,
    Revoke,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    Connecting,
    Waiting,
    /// The lock has become free, and the worker, which is frozen, hasn't noticed.
    First,
    /// TERM has ended the wait, and the request to delete the node is on its way.
    Leaving,
    Holding,
    /// No server answers while the monitor deletes the node.
    Silent,
    /// The ACL of the node was changed, so that zklock can't see whether it is still there.
    Hidden,
    /// The command is a zklock with the same lock, which becomes its command.
    Reentrant,
    /// The command is a zklock with another lock.
    Nested,
    AllStopped,
    /// A stopped process takes no signal but KILL.
    AllButMonitorStopped,
    /// As by Ctrl-Z. It is continued afterwards.
    MonitorStopped,
    /// The command has ended with 5 and left a process, which no longer belongs to it. The request to delete the node is on its
    /// way.
    Releasing,
}

use What::{
    FreezeDyingWorker, FreezeWorker, FreezeWorkerAndSend, HangWorkerKillMonitor, KillBoth, KillCommand,
    KillInnerMonitor, KillInnerWorker, KillMonitor, KillMonitorAndCommand, KillMonitorGroup, KillWorker,
    KillWorkerGroup, Revoke,
};
use When::{
    AllButMonitorStopped, AllStopped, Connecting, First, Hidden, Holding, Leaving, MonitorStopped, Nested,
    Reentrant, Releasing, Silent, Waiting,
};

type Row = (&'static [&'static str], What, When, Result<i32, Signal>, &'static [&'static str]);

const KILLED: &str = "the worker process was killed by signal 9";
const GONE: &str = "the lock node is gone";
const NOT_STARTED: &[&str] = &[KILLED, "the command was not started"];
const STOPPED: &[&str] = &[KILLED, "was stopped with all its processes", GONE];
const HUNG: &str = "the worker process hung until the lease was nearly over";
const DELETING: &str = "deleting the lock node in place of the worker: connecting";
const LATER: &str = "the lock node is deleted when its session times out";
const SINGLE: &[&str] = &["--single-child"];
const BRIEF: &[&str] = &["--session-timeout", "5", "--kill-after", "0.5"];
const SHORT: &[&str] = &["--session-timeout", "6"];
const LONGER: &[&str] = &["--session-timeout", "12"];
const ASKED: &[&str] = &["--session-timeout", "600", "--kill-after", "0.5"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&[],               KillWorker,       Connecting,           Ok(125),      &[KILLED]),
    (&[],               KillWorker,       Waiting,              Ok(125),      NOT_STARTED),
    (&[],               KillMonitor,      Waiting,              Err(SIGKILL), &[]),
    (&[],               FreezeWorkerAndSend(SIGTERM), Waiting,  Err(SIGTERM), &[]),
    (&[],               FreezeWorkerAndSend(SIGINT), Waiting,   Err(SIGINT),  &[]),
    (&[],               KillMonitor,      First,                Err(SIGKILL), &[]),
    (&[],               FreezeWorker,     Leaving,              Err(SIGTERM), &["didn't react to SIGTERM"]),
    (&[],               KillMonitor,      Holding,              Err(SIGKILL), &[]),
    (&[],               KillWorker,       Holding,              Ok(123),      STOPPED),
    (&["-s"],           KillWorker,       Holding,              Ok(123),      STOPPED),
    (&["--slots", "2"], KillWorker,       Holding,              Ok(123),      STOPPED),
    (SINGLE,            KillMonitor,      Holding,              Err(SIGKILL), &[]),
    (SINGLE,            KillWorker,       Holding,              Ok(123),      STOPPED),
    (&[],               KillMonitorGroup, Holding,              Err(SIGKILL), &[]),
    (&[],               KillWorkerGroup,  Holding,              Ok(123),      STOPPED),
    (&["-v"],           KillCommand,      Holding,              Err(SIGKILL), &["was killed; the processes that it has left are killed"]),
    (&[],               KillMonitorAndCommand, Holding,         Err(SIGKILL), &[]),
    (&["--kill-after", "0.3"], Revoke,    Holding,              Ok(123),      &["revoked by", "was stopped"]),
    (BRIEF,             FreezeWorker,     Holding,              Ok(123),      &[HUNG]),
    (BRIEF,             FreezeDyingWorker, Holding,             Ok(123),      &["(lease-guard) doesn't end after KILL", "the command was stopped with all its processes"]),
    (BRIEF,             HangWorkerKillMonitor, Holding,         Err(SIGKILL), &[]),
    (ASKED,             HangWorkerKillMonitor, Holding,         Err(SIGKILL), &[]),
    (&[],               KillWorker,       Silent,               Ok(123),      &[KILLED, DELETING]),
    (SHORT,             KillWorker,       Hidden,               Ok(123),      &[KILLED, LATER]),
    (&[],               KillMonitor,      AllStopped,           Err(SIGKILL), &[]),
    (&[],               KillWorker,       AllButMonitorStopped, Ok(123),      STOPPED),
    (&[],               KillWorker,       MonitorStopped,       Ok(123),      STOPPED),
    (&[],               KillWorker,       Reentrant,            Ok(123),      &[KILLED]),
    (&[],               KillMonitor,      Nested,               Err(SIGKILL), &[]),
    (&[],               KillWorker,       Nested,               Ok(123),      &[KILLED]),
    (LONGER,            FreezeWorker,     Nested,               Ok(123),      &[HUNG]),
    (&[],               KillInnerMonitor, Nested,               Err(SIGKILL), &[]),
    (&[],               KillInnerWorker,  Nested,               Ok(123),      &[KILLED]),
    (SHORT,             KillBoth,         Holding,              Err(SIGKILL), &[]),
    (SHORT,             KillBoth,         AllButMonitorStopped, Err(SIGKILL), &[]),
    (&[],               KillMonitor,      Releasing,            Err(SIGKILL), &[]),
    (&[],               KillWorker,       Releasing,            Ok(5),        &["the command had ended before"]),
    (&[],               FreezeWorker,     Releasing,            Ok(5),        &["the worker process hung during the release"]),
];

/// A shell, a pipeline, orphans, and a daemon that ignores what it can: nothing identifies it but its ancestry.
const FAMILY: &str = "(sleep 61 & sleep 62 &); \
    (env -i setsid bash -c 'trap \"\" TERM HUP INT; while :; do sleep 0.05; done' >/dev/null 2>&1 & echo \"daemon $!\"); \
    sleep 63 | sleep 64 & echo ready; sleep 65; :";
/// Its processes, without the daemon.
const MEMBERS: usize = 6;

/// Three unrelated children of zklock, one of them a child of another. [`ENDS`] ends before the fault.
const UNRELATED: &str = "perl -e 'fork; sleep 301' </dev/null >/dev/null 2>&1 & \
    perl -e 'sleep 302' </dev/null >/dev/null 2>&1 &";
const ENDS: &str = "sleep 302";

/// A worker that doesn't react is killed after 15 s, and earlier if zklock was told to end.
const SOON: Duration = Duration::from_secs(14);

#[test]
fn before_the_command_runs() {
    try_rows_of(|when| matches!(when, Connecting | Waiting | First | Leaving));
}

#[test]
fn while_the_command_runs() {
    try_rows_of(|when| matches!(when, Holding | Silent | Hidden));
}

#[test]
fn while_processes_are_stopped() {
    try_rows_of(|when| matches!(when, AllStopped | AllButMonitorStopped | MonitorStopped));
}

#[test]
fn around_another_zklock() {
    try_rows_of(|when| matches!(when, Reentrant | Nested));
}

#[test]
fn after_the_command_has_ended() {
    try_rows_of(|when| when == Releasing);
}

#[track_caller]
fn try_rows_of(is_tried: impl Fn(When) -> bool) {
    try_rows(ROWS.iter().copied().filter(|(_, _, when, ..)| is_tried(*when)), try_row);
}

fn try_row((options, what, when, ends, says): Row) {
    let own = || Server::builder().config("maxSessionTimeout=5000").start();
    let server = (what == HangWorkerKillMonitor).then(own);
    let case = server.as_ref().map_or_else(|| Case::new("killed"), |server| Case::on(server, "killed"));
    let proxy = Proxy::to(server.as_ref().unwrap_or_else(|| shared()));
    let hosts = proxy.connect_string();
    let options = [&["-z", &hosts], options].concat();
    let output = match when {
        Connecting | Waiting | First | Leaving => before_the_command(&case, &proxy, &options, what, when),
        Releasing => after_the_command(&case, &proxy, &options, what),
        _ => with_the_command(&case, &proxy, &options, what, when),
    };
    match ends {
        Ok(code) => output.assert_code(code).assert_stderr(case.path()),
        Err(signal) => output.assert_signal(signal),
    };
    for text in says {
        output.assert_stderr(text);
    }
    assert!(output.closed, "{output}");
    assert!(when != Hidden || !output.stderr.contains(GONE), "{output}");
    let left: Vec<Pid> = unrelated(&case).into_iter().map(|(pid, _)| pid).collect();
    assert!(left.len() == 2 || what == KillMonitorGroup, "unrelated: {left:?}; {output}");
    for pid in left {
        kill(pid, SIGKILL).expect("an unrelated child");
    }
    let is_left = |(_, name): &(Pid, String)| !name.starts_with("perl");
    let is_over = || !processes_of(case.marker()).iter().any(is_left);
    if ends == Err(SIGKILL) {
        wait_until("the end of all", HAND_OFF, is_over);
    } else {
        assert!(is_over(), "{:?}", processes_of(case.marker()));
    }
}

/// The unrelated children that are alive.
fn unrelated(case: &Case) -> Vec<(Pid, String)> {
    processes_of(case.marker()).into_iter().filter(|(_, name)| name.starts_with("perl")).collect()
}

/// The end of an unrelated child is not the end of the command.
#[track_caller]
fn end_an_unrelated_child(case: &Case) {
    let all = wait_for("the unrelated", DEADLINE, || Some(unrelated(case)).filter(|all| all.len() == 3));
    let (ends, _) = all.into_iter().find(|(_, name)| name.contains(ENDS)).expect("the one that ends");
    kill(ends, SIGKILL).expect("an unrelated child");
}

fn before_the_command(case: &Case, proxy: &Proxy, options: &[&str], what: What, when: When) -> Output {
    let holder = (when != Connecting).then(|| case.holder());
    match when {
        Connecting => proxy.blackhole(),
        Leaving => proxy.once(op::DELETE, At::Hold),
        _ => {}
    }
    let options = [options, &["-v", "--connect-timeout", "60"]].concat();
    let waiter = case.lock(&options, ["echo", "must not run"]).prelude(UNRELATED).spawn();
    if holder.is_some() {
        waiter.wait_for_line(": position ", DEADLINE);
    } else {
        wait_until("a connection", DEADLINE, || proxy.accepted() > 0);
    }
    end_an_unrelated_child(case);
    let worker = worker_of(waiter.pid());
    let mut holder = holder;
    if when == First {
        freeze(worker);
        holder.take().into_iter().for_each(end);
    }
    if when == Leaving {
        waiter.signal(SIGTERM);
        proxy.wait_fired(1, DEADLINE);
    }
    act(what, &waiter, case);
    let output = waiter.wait(if matches!(what, FreezeWorkerAndSend(_)) { SOON } else { HAND_OFF });
    assert_eq!(output.stdout, "");
    if when == Waiting && what != KillMonitor {
        assert!(!is_alive(worker));
        assert_eq!(case.contenders().len(), 1, "its node is gone before it is");
    }
    proxy.release();
    // It need not be continued from outside.
    wait_until("the worker's end", HAND_OFF, || !is_alive(worker));
    case.observer().wait_for_contenders(case.path(), usize::from(holder.is_some()), HAND_OFF);
    holder.into_iter().for_each(end);
    output
}

fn with_the_command(case: &Case, proxy: &Proxy, options: &[&str], what: What, when: When) -> Output {
    let second = format!("{}-b", case.path());
    let path = if when == Reentrant { case.path() } else { &second };
    let timeout = if options.contains(&"12") { "12" } else { "5" };
    let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "--session-timeout", timeout, path, "--"];
    let inner = if matches!(when, Reentrant | Nested) { &inner[..] } else { &[] };
    let command = inner.iter().copied().chain(["bash", "-c", FAMILY]);
    let running = case.lock(options, command).prelude(UNRELATED).spawn();
    let (family, daemon) = family_of(case, &running, when);
    end_an_unrelated_child(case);
    // The next contender tells who is alive when it runs. Readers and slots would run at once.
    let pids: Vec<String> = family.iter().map(ToString::to_string).collect();
    let lives = match what {
        // They can't reap the dead.
        FreezeDyingWorker | HangWorkerKillMonitor => "grep -qs '^State:.[^ZX]' /proc/$pid/status",
        _ => "kill -0 $pid",
    };
    let look = format!("for pid in {}; do {lives} && echo $pid is alive; done; :", pids.join(" "));
    // A server tells nobody of the end of a node that may not be read.
    let is_alone = when == Hidden || ["-s", "--slots"].iter().any(|option| options.contains(option));
    let next = (!is_alone).then(|| case.lock(&[], ["bash", "-c", &look]).spawn());
    case.wait_for_contenders(1 + usize::from(next.is_some()));
    prepare(when, case, proxy, &running, &family);
    let worker = worker_of(running.pid());
    let kept = act(what, &running, case);
    if when == Silent {
        running.wait_for_line(DELETING, DEADLINE);
        proxy.pass();
    }
    if when == MonitorStopped {
        wait_until("the end of the group", DEADLINE, || {
            !family.iter().any(|pid| is_alive(*pid) && *pid != daemon)
        });
        assert!(is_stopped(running.pid()));
        running.signal(SIGCONT);
    }
    let longest = if options.contains(&"--session-timeout") { DEADLINE } else { HAND_OFF };
    // If neither can act, what has left the group lives on, and the lock is free when the session has ended.
    let is_left = matches!(what, KillBoth | HangWorkerKillMonitor);
    let left = if is_left { format!("{daemon} is alive\n") } else { String::new() };
    if let Some(next) = next {
        assert_eq!(next.wait(longest).assert_code(0).stdout, left);
    } else {
        case.observer().wait_for_contenders(case.path(), 0, longest);
        assert!(!family.iter().any(|pid| is_alive(*pid)), "they end before the lock is released");
    }
    if what == FreezeDyingWorker {
        assert!(is_alive(worker), "it is held at its end");
        running.wait_for_line("doesn't end after KILL", DEADLINE);
    }
    drop(kept);
    if is_left {
        kill(daemon, SIGKILL).expect("the daemon");
    }
    wait_until("the end of all", HAND_OFF, || !family.iter().any(|pid| is_alive(*pid)));
    for path in [case.path(), &second] {
        case.observer().wait_for_contenders(path, 0, longest);
    }
    running.wait(HAND_OFF)
}

/// The processes of [`FAMILY`], and its daemon.
#[track_caller]
fn family_of(case: &Case, running: &Running, when: When) -> (Vec<Pid>, Pid) {
    let daemon = running.wait_for_stdout("daemon ", DEADLINE).trim().replace("daemon ", "");
    let daemon = Pid::from_raw(daemon.parse().expect("a pid"));
    let is_of_family = |(_, name): &(Pid, String)| name.starts_with("sleep") || name.starts_with("bash");
    let mut family: Vec<Pid> = wait_for("the whole family", DEADLINE, || {
        let all: Vec<_> = processes_of(case.marker()).into_iter().filter(is_of_family).collect();
        (all.len() == MEMBERS && getsid(Some(daemon)) == Ok(daemon))
            .then(|| all.into_iter().map(|(pid, _)| pid).collect())
    });
    family.push(daemon);
    let all: Vec<_> =
        processes_of(case.marker()).iter().filter_map(|(pid, _)| status_of(*pid, "Name")).collect();
    let pairs = ["zklock", WORKER].map(|name| all.iter().filter(|found| *found == name).count());
    assert_eq!(pairs, [1 + usize::from(when == Nested); 2], "{all:?}");
    (family, daemon)
}

/// Makes the moment at which it happens.
fn prepare(when: When, case: &Case, proxy: &Proxy, running: &Running, family: &[Pid]) {
    let (monitor, worker) = (running.pid(), worker_of(running.pid()));
    let stopped = match when {
        AllStopped => [family, &[worker, monitor]].concat(),
        AllButMonitorStopped => [family, &[worker]].concat(),
        MonitorStopped => vec![monitor],
        // Otherwise the worker could notice first that it can't read its node.
        Hidden => vec![worker],
        _ => vec![],
    };
    stopped.into_iter().for_each(freeze);
    match when {
        Silent => proxy.blackhole(),
        Hidden => case.observer().hide(&format!("{}/{}", case.path(), case.contenders()[0])),
        _ => {}
    }
}

/// Returns what must be kept while it lasts.
#[track_caller]
fn act(what: What, zklock: &Running, case: &Case) -> Option<Box<dyn Any>> {
    let (monitor, worker) = (zklock.pid(), worker_of(zklock.pid()));
    let inner =
        || children_of(worker).into_iter().find(|(_, name)| name.contains("/zklock ")).expect("the inner").0;
    let killed = match what {
        KillMonitor => vec![monitor],
        KillWorker => vec![worker],
        KillMonitorGroup => {
            killpg(monitor, SIGKILL).expect("a group");
            vec![]
        }
        KillWorkerGroup => {
            killpg(worker, SIGKILL).expect("a group");
            vec![]
        }
        KillBoth => {
            // A process that isn't stopped may kill all descendants of the command between two calls of kill(2). The
            // worker goes first: the kernel continues it when the monitor dies.
            [monitor, worker].into_iter().for_each(freeze);
            vec![worker, monitor]
        }
        KillCommand => vec![command_of(monitor)],
        KillMonitorAndCommand => vec![monitor, command_of(monitor)],
        KillInnerMonitor => vec![inner()],
        KillInnerWorker => vec![worker_of(inner())],
        FreezeWorker | FreezeWorkerAndSend(_) | FreezeDyingWorker => {
            freeze(worker);
            vec![]
        }
        HangWorkerKillMonitor | Revoke => vec![],
    };
    for pid in killed {
        let sent = kill(pid, SIGKILL);
        // The worker may have reaped the command already.
        assert!(sent.is_ok() || what == KillMonitorAndCommand, "{pid}: {sent:?}");
    }
    match what {
        FreezeWorkerAndSend(signal) => zklock.signal(signal),
        FreezeDyingWorker => return Some(Box::new(Held::at_its_end(worker))),
        HangWorkerKillMonitor => {
            let hung = Hung::in_its_first_thread(worker);
            zklock.signal(SIGKILL);
            return Some(Box::new(hung));
        }
        Revoke => assert_eq!(case.zklock().args(["revoke", case.path()]).run().code, Some(0)),
        _ => {}
    }
    None
}

fn after_the_command(case: &Case, proxy: &Proxy, options: &[&str], what: What) -> Output {
    proxy.once(op::DELETE, At::Hold);
    let script = "sleep 61 >/dev/null 2>&1 & echo ready $!; exit 5";
    let running = case.lock(options, ["bash", "-c", script]).prelude(UNRELATED).spawn();
    let left = running.wait_for_stdout("ready ", DEADLINE)["ready ".len()..].trim().to_owned();
    let left = Pid::from_raw(left.parse().expect("a pid"));
    proxy.wait_fired(1, DEADLINE);
    end_an_unrelated_child(case);
    act(what, &running, case);
    proxy.cut_all();
    proxy.release();
    // A frozen worker has 15 s to end by itself.
    let output = running.wait(if what == FreezeWorker { DEADLINE } else { HAND_OFF });
    if what == KillWorker {
        assert_eq!(case.contenders(), [""; 0]);
    }
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
    assert!(is_alive(left), "whoever was no longer the command was killed");
    kill(left, SIGKILL).expect("it lives");
    wait_until("its end", DEADLINE, || !is_alive(left));
    output
}
