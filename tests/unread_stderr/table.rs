//! zklock does the same in the same time and ends with the same code, whatever becomes of its messages.
//!
//! A row is zklock's options, what happens, and how zklock ends then. To add one, add a line to [`ROWS`].

use super::{UnreadStderr, VERBOSITIES};
use crate::support::{
    Case, DEADLINE, History, Proxy, Running, Zklock, end, free_port, pass_time, processes_of, shared,
    try_rows, wait_until, worker_of,
};
use UnreadStderr::{BrokenPipe, Closed, CtrlS, FileLimit, FullDisk, FullPipe};
use What::{
    BecomesFirst, Busy, Call, Cut, DeletedNode, KilledWorker, Script, Send, SendWithoutServer, Silence,
};
use nix::sys::signal::Signal::{self, SIGINT, SIGKILL, SIGTERM, SIGUSR1};
use nix::sys::signal::kill;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// zklock is called with these words, in which `PATH` is the lock, and at `NOWHERE` there is no server.
    Call(&'static str),
    /// The same, behind a holder.
    Busy(&'static str),
    /// This script is the command, in which `ZKLOCK` calls another zklock with the same lock.
    Script(&'static str),
    /// The connection of a holder is silent until the next contender has run.
    Silence,
    /// The connection of a holder is cut, and connected again. With `-vvvv` that is logged at length.
    Cut,
    DeletedNode,
    /// The monitor cleans up before it says what happened.
    KilledWorker,
    /// A waiter becomes first.
    BecomesFirst,
    /// A waiter gets this signal.
    Send(Signal),
    SendWithoutServer(Signal),
}

type Row = (&'static [&'static str], What, Result<i32, Signal>);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&[],                 Script("sleep 0.3; exit 9"),                    Ok(9)),
    (&[],                 Script("sleep 0.3; kill -USR1 $$"),             Err(SIGUSR1)),
    (&[],                 Script("sleep 0.3; ZKLOCK -- sh -c 'exit 9'"),  Ok(9)),
    (&[],                 Script("sleep 0.3; ZKLOCK -- /no/such/program"), Ok(127)),
    (&["-s"],             Script("sleep 0.3; ZKLOCK -- true"),            Ok(125)),
    (&[],                 Busy("-n -E 77 PATH -- echo ran"),              Ok(77)),
    (&[],                 Call("PATH -- /no/such/program"),               Ok(127)),
    (&[],                 Call("-z NOWHERE --connect-timeout 1 PATH -- echo ran"), Ok(125)),
    (&[],                 Call("revoke PATH"),                            Ok(1)),
    (&[],                 Call("revoke"),                                 Ok(125)),
    (&[],                 Call("--no-such-option"),                       Ok(125)),
    (&["--session-timeout", "8", "--kill-after", "0.3"], Silence,         Ok(123)),
    (&["--session-timeout", "15", "--kill-after", "0.2"], Cut,             Ok(7)),
    (&[],                 DeletedNode,                                    Ok(123)),
    (&[],                 KilledWorker,                                   Ok(123)),
    (&[],                 BecomesFirst,                                     Ok(7)),
    (&[],                 Send(SIGTERM),                                  Err(SIGTERM)),
    (&[],                 Send(SIGINT),                                   Err(SIGINT)),
    (&["--session-timeout", "2"], SendWithoutServer(SIGTERM),             Err(SIGTERM)),
];

/// Messages that can't be written within 3 s are dropped, so zklock exits within this time.
const EXIT_LIMIT: Duration = Duration::from_secs(20);

/// The same for a waiter: a worker that doesn't react is ended after fifteen.
const SOON: Duration = Duration::from_secs(14);

#[test]
fn behind_a_full_pipe() {
    try_all(&[FullPipe], ROWS);
}

#[test]
fn without_stderr() {
    try_all(&[Closed], ROWS);
}

#[test]
fn after_ctrl_s() {
    try_all(&[CtrlS], ROWS);
}

#[test]
fn on_a_broken_pipe_or_a_full_disk() {
    try_all(&[BrokenPipe, FullDisk, FileLimit], &ROWS[..2]);
}

#[track_caller]
fn try_all(kinds: &[UnreadStderr], rows: &'static [Row]) {
    let all = rows.iter().flat_map(|row| VERBOSITIES.into_iter().map(move |verbosity| (verbosity, *row)));
    try_rows(
        kinds.iter().flat_map(|kind| all.clone().map(|(verbosity, row)| (*kind, verbosity, row))),
        try_row,
    );
}

fn try_row((stderr, verbosity, (options, what, ends)): (UnreadStderr, &[&str], Row)) {
    let proxy = Proxy::to(shared());
    let case = Case::new("unheard").through(&proxy.connect_string());
    let history = case.history();
    let is_behind = matches!(what, Busy(_) | BecomesFirst | Send(_) | SendWithoutServer(_));
    let holder = is_behind.then(|| case.direct_holder(&[]));
    let zklock = match what {
        Call(words) | Busy(words) => {
            let words = words.replace("NOWHERE", &format!("127.0.0.1:{}", free_port()));
            let words = words.replace("PATH", case.path());
            stderr.begin(&case, case.zklock().args(verbosity).args(words.split(' ')))
        }
        _ => stderr.start(&case, &[verbosity, options].concat(), &script(what, &case, &history)),
    };
    if matches!(what, Silence | Cut | DeletedNode | KilledWorker) {
        let begun = || history.sections().is_ok_and(|sections| sections.len() == 1);
        wait_until("the command to run", DEADLINE, begun);
    }
    let mut holder = holder;
    match what {
        BecomesFirst => holder.take().into_iter().for_each(end),
        Send(signal) => zklock.signal(signal),
        SendWithoutServer(signal) => {
            proxy.refuse_new(true);
            proxy.cut_all();
            case.observer().wait_for_contenders(case.path(), 1, DEADLINE);
            zklock.signal(signal);
        }
        Silence => run_the_next(&case, &proxy, &history),
        Cut => cut(&case, &proxy, &history),
        DeletedNode => {
            case.delete_node(0);
            // Long before the end of the session, which is 30 s away.
            wait_until("the end of the command", EXIT_LIMIT, || {
                let all = processes_of(case.marker());
                all.iter().all(|(pid, name)| *pid == zklock.process.pid() || !name.starts_with("bash"))
            });
        }
        KilledWorker => {
            kill(worker_of(zklock.process.pid()), SIGKILL).expect("a worker");
            case.observer().wait_for_contenders(case.path(), 0, EXIT_LIMIT);
        }
        Call(_) | Busy(_) | Script(_) => {}
    }
    let within = match what {
        Send(_) | SendWithoutServer(_) => SOON,
        Silence | Cut | BecomesFirst => DEADLINE,
        Call(words) if words.contains("NOWHERE") => DEADLINE,
        _ => EXIT_LIMIT,
    };
    assert_eq!(zklock.end(within), ends);
    let ran = history.exclusive_order();
    match what {
        Silence => assert_eq!(ran, ["first", "next"]),
        Cut | DeletedNode | KilledWorker | BecomesFirst => assert_eq!(ran, ["first"]),
        _ => assert_eq!(ran, [""; 0]),
    }
    let is_ended = history.sections().unwrap().first().is_some_and(|section| section.ended);
    assert_eq!(is_ended, matches!(what, Cut | BecomesFirst));
    case.observer().wait_for_contenders(case.path(), usize::from(holder.is_some()), DEADLINE);
    holder.into_iter().for_each(end);
}

/// The command of a zklock that queues.
fn script(what: What, case: &Case, history: &History) -> String {
    let zklock = format!("{} -v -z {} {}", env!("CARGO_BIN_EXE_zklock"), case.hosts(), case.path());
    match what {
        Script(script) => script.replace("ZKLOCK", &zklock),
        Silence | Cut | DeletedNode | KilledWorker => format!("{}; exit 7", history.steady_job("first")),
        _ => format!("{}; exit 7", history.job("first", 0.0)),
    }
}

/// Lets the next contender have the lock, which is connected directly.
#[track_caller]
fn run_the_next(case: &Case, proxy: &Proxy, history: &History) {
    let next = Zklock::at(&shared().connect_string(), case.marker()).arg(case.path());
    let next: Running = next.args(["--", "sh", "-c", &history.job("next", 0.3)]).spawn();
    case.wait_for_contenders(2);
    proxy.blackhole();
    next.wait(DEADLINE).assert_code(0);
    proxy.pass();
}

#[track_caller]
fn cut(case: &Case, proxy: &Proxy, history: &History) {
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    let stat = || case.observer().stat(&node).map(|stat| (stat.czxid, stat.ephemeral_owner));
    let before = stat();
    pass_time(Duration::from_secs(1));
    proxy.cut_all();
    pass_time(Duration::from_secs(16));
    assert_eq!(stat(), before);
    history.finish("first");
}

/// The start waits a moment for messages to be written. A revoke in this time must prevent it.
#[test]
fn a_revoke_before_the_start_prevents_the_command() {
    let revoked_in_time = |attempt| {
        let case = Case::new(&format!("unheard-revoke-{attempt}"));
        let started = case.dir().join("started");
        let script = format!("touch '{}'; sleep 60", started.display());
        let holder = FullPipe.start(&case, &["-v"], &script);
        let node = format!("{}/{}", case.path(), case.contenders()[0]);
        case.observer().set_data(&node, "__REVOKE__");
        let code = holder.end(DEADLINE);
        assert!(code == Ok(123) || !started.exists(), "{code:?}");
        code == Ok(125)
    };
    assert!((0..5).any(revoked_in_time), "the command was started each time");
}
