//! `kill -9` of zklock's processes. Whatever is killed, and whenever: no process of the command is left when the next
//! contender runs, and the lock is free long before its session ends.

use super::HAND_OFF;
use crate::support::{
    Case, DEADLINE, Output, Proxy, Running, children_of, end, freeze, is_alive, is_stopped, kill_all,
    processes_of, shared, try_rows, wait_for, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getsid};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Monitor,
    Worker,
    /// The process group of one.
    MonitorGroup,
    WorkerGroup,
    /// At once: neither acts on the death of the other. Only the kernel is left, which ends the command's group.
    Both,
    /// Of a zklock that is the command.
    InnerMonitor,
    InnerWorker,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    Connecting,
    Waiting,
    Running,
    /// The command is a zklock with another lock.
    Nested,
    AllStopped,
    /// A stopped process takes no signal but KILL.
    AllButMonitorStopped,
    /// As by Ctrl-Z. It is continued afterwards.
    MonitorStopped,
}

/// How zklock ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Killed,
    Code(i32),
}

use End::{Code, Killed};
use Victim::{Both, InnerMonitor, InnerWorker, Monitor, MonitorGroup, Worker, WorkerGroup};
use When::{AllButMonitorStopped, AllStopped, Connecting, MonitorStopped, Nested, Waiting};

/// zklock's options, what is killed and when, zklock's end, and what it says.
type Row = (&'static [&'static str], Victim, When, End, &'static [&'static str]);

const KILLED: &str = "the worker process was killed by signal 9";
const NOT_STARTED: &[&str] = &[KILLED, "the command was not started"];
const STOPPED: &[&str] = &[KILLED, "was stopped with all its processes", "the lock node is gone"];
const SINGLE: &[&str] = &["--single-child"];
const SHORT: &[&str] = &["--session-timeout", "6"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&[],               Worker,       Connecting,           Code(125), &[KILLED]),
    (&[],               Worker,       Waiting,              Code(125), NOT_STARTED),
    (&[],               Monitor,      Waiting,              Killed,    &[]),
    (&[],               Monitor,      When::Running,        Killed,    &[]),
    (&[],               Worker,       When::Running,        Code(123), STOPPED),
    (&["-s"],           Worker,       When::Running,        Code(123), STOPPED),
    (&["--slots", "2"], Worker,       When::Running,        Code(123), STOPPED),
    (SINGLE,            Monitor,      When::Running,        Killed,    &[]),
    (SINGLE,            Worker,       When::Running,        Code(123), STOPPED),
    (&[],               MonitorGroup, When::Running,        Killed,    &[]),
    (&[],               WorkerGroup,  When::Running,        Code(123), STOPPED),
    (&[],               Monitor,      AllStopped,           Killed,    &[]),
    (&[],               Worker,       AllButMonitorStopped, Code(123), STOPPED),
    (&[],               Worker,       MonitorStopped,       Code(123), STOPPED),
    (&[],               Monitor,      Nested,               Killed,    &[]),
    (&[],               Worker,       Nested,               Code(123), &[KILLED]),
    (&[],               InnerMonitor, Nested,               Killed,    &[]),
    (&[],               InnerWorker,  Nested,               Code(123), &[KILLED]),
    (SHORT,             Both,         When::Running,        Killed,    &[]),
    (SHORT,             Both,         AllButMonitorStopped, Killed,    &[]),
];

/// A shell, a pipeline, orphans, and a daemon that ignores what it can: nothing identifies it but its ancestry.
const FAMILY: &str = "(sleep 61 & sleep 62 &); \
    (env -i setsid bash -c 'trap \"\" TERM HUP INT; while :; do sleep 0.05; done' >/dev/null 2>&1 & echo \"daemon $!\"); \
    sleep 63 | sleep 64 & echo ready; sleep 65; :";
/// Its processes, without the daemon.
const MEMBERS: usize = 6;

#[track_caller]
fn try_rows_of(is_tried: impl Fn(When) -> bool) {
    try_rows(ROWS.iter().copied().filter(|(_, _, when, ..)| is_tried(*when)), try_row);
}

#[test]
fn before_the_command_runs() {
    try_rows_of(|when| matches!(when, Connecting | Waiting));
}

#[test]
fn while_the_command_runs() {
    try_rows_of(|when| when == When::Running);
}

#[test]
fn while_processes_are_stopped() {
    try_rows_of(|when| matches!(when, AllStopped | AllButMonitorStopped | MonitorStopped));
}

#[test]
fn inside_another_zklock() {
    try_rows_of(|when| when == Nested);
}

fn try_row((options, victim, when, ends, says): Row) {
    let case = Case::new("killed");
    let output = match when {
        Connecting | Waiting => before_the_command(&case, victim, when),
        _ => with_the_command(&case, options, victim, when),
    };
    match ends {
        Killed => output.assert_signal(Signal::SIGKILL),
        Code(code) => output.assert_code(code).assert_stderr(case.path()),
    };
    for text in says {
        output.assert_stderr(text);
    }
    assert!(output.closed, "{output}");
    assert_eq!(processes_of(case.marker()), []);
}

fn before_the_command(case: &Case, victim: Victim, when: When) -> Output {
    let proxy = Proxy::to(shared());
    let hosts = proxy.connect_string();
    let holder = (when == Waiting).then(|| case.holder());
    if holder.is_none() {
        proxy.blackhole();
    }
    let options = ["-v", "-z", &hosts, "--connect-timeout", "60"];
    let waiter = case.lock(&options, ["echo", "must not run"]).spawn();
    if holder.is_some() {
        waiter.wait_for_line(": position ", DEADLINE);
    } else {
        wait_until("a connection", DEADLINE, || proxy.accepted() > 0);
    }
    let worker = worker_of(waiter.pid());
    kill_it(victim, &waiter);
    let output = waiter.wait(HAND_OFF);
    assert_eq!(output.stdout, "");
    if holder.is_some() && victim == Worker {
        assert_eq!(case.contenders().len(), 1, "its node is gone before it is");
    }
    wait_until("the worker's end", HAND_OFF, || !is_alive(worker));
    if let Some(holder) = holder {
        case.observer().wait_for_contenders(case.path(), 1, HAND_OFF);
        end(holder);
    }
    output
}

fn with_the_command(case: &Case, options: &[&str], victim: Victim, when: When) -> Output {
    let second = format!("{}-b", case.path());
    let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "--session-timeout", "5", &second, "--"];
    let inner = if when == Nested { &inner[..] } else { &[] };
    let running = case.lock(options, inner.iter().copied().chain(["bash", "-c", FAMILY])).spawn();
    let daemon = running.wait_for_stdout("daemon ", DEADLINE).trim().replace("daemon ", "");
    let daemon = Pid::from_raw(daemon.parse().expect("a pid"));
    let is_of_family = |(_, name): &(Pid, String)| name.starts_with("sleep") || name.starts_with("bash");
    let mut family: Vec<Pid> = wait_for("the whole family", DEADLINE, || {
        let all: Vec<_> = processes_of(case.marker()).into_iter().filter(is_of_family).collect();
        (all.len() == MEMBERS && getsid(Some(daemon)) == Ok(daemon))
            .then(|| all.into_iter().map(|(pid, _)| pid).collect())
    });
    family.push(daemon);
    // The next contender tells who is alive when it runs. Readers and slots would run at once.
    let pids: Vec<String> = family.iter().map(ToString::to_string).collect();
    let look = format!("for pid in {}; do kill -0 $pid && echo $pid is alive; done; :", pids.join(" "));
    let is_shared = options.first().is_some_and(|option| ["-s", "--slots"].contains(option));
    let next = (!is_shared).then(|| case.lock(&[], ["bash", "-c", &look]).spawn());
    case.wait_for_contenders(1 + usize::from(next.is_some()));
    stop(when, &running, &family);
    kill_it(victim, &running);
    if when == MonitorStopped {
        wait_until("the end of the group", DEADLINE, || {
            !family.iter().any(|pid| is_alive(*pid) && *pid != daemon)
        });
        assert!(is_stopped(running.pid()));
        running.signal(Signal::SIGCONT);
    }
    // Of both at once, what has left the group lives on, and the lock is free when the session has ended.
    let (longest, left) =
        if victim == Both { (DEADLINE, format!("{daemon} is alive\n")) } else { (HAND_OFF, String::new()) };
    if let Some(next) = next {
        assert_eq!(next.wait(longest).assert_code(0).stdout, left);
    } else {
        case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
        assert!(!family.iter().any(|pid| is_alive(*pid)), "they end before the lock is released");
    }
    if victim == Both {
        kill(daemon, Signal::SIGKILL).expect("the daemon");
        kill_all(case.marker());
    }
    wait_until("the end of all", HAND_OFF, || !family.iter().any(|pid| is_alive(*pid)));
    for path in [case.path(), &second] {
        case.observer().wait_for_contenders(path, 0, HAND_OFF);
    }
    running.wait(HAND_OFF)
}

fn stop(when: When, running: &Running, family: &[Pid]) {
    let (monitor, worker) = (running.pid(), worker_of(running.pid()));
    let stopped = match when {
        AllStopped => [family, &[worker, monitor]].concat(),
        AllButMonitorStopped => [family, &[worker]].concat(),
        MonitorStopped => vec![monitor],
        _ => vec![],
    };
    stopped.into_iter().for_each(freeze);
}

fn kill_it(victim: Victim, zklock: &Running) {
    let (monitor, worker) = (zklock.pid(), worker_of(zklock.pid()));
    let inner =
        || children_of(worker).into_iter().find(|(_, name)| name.contains("/zklock ")).expect("the inner").0;
    match victim {
        MonitorGroup => killpg(monitor, Signal::SIGKILL).expect("a group"),
        WorkerGroup => killpg(worker, Signal::SIGKILL).expect("a group"),
        Both => {
            // A process that isn't stopped may kill all descendants of the command between two calls of kill(2). The
            // worker goes first: the kernel continues it when the monitor dies.
            [monitor, worker].into_iter().for_each(freeze);
            for pid in [worker, monitor] {
                kill(pid, Signal::SIGKILL).expect("a process");
            }
        }
        Monitor => kill(monitor, Signal::SIGKILL).expect("a process"),
        Worker => kill(worker, Signal::SIGKILL).expect("a process"),
        InnerMonitor => kill(inner(), Signal::SIGKILL).expect("a process"),
        InnerWorker => kill(worker_of(inner()), Signal::SIGKILL).expect("a process"),
    }
}
