//! What a signal to zklock does before its command runs, during a forced stop, and during the release; for zklock as process 1 of
//! a container, too.
//!
//! A row is where zklock runs, a phase, signals, and what each of them does. To add one, add a line to [`ROWS`].

use super::{ENDING, FAULTS, each, got};
use crate::support::{
    At, Case, DEADLINE, Place, Placed, Proxy, Running, command_of, end, freeze, is_alive, op, shared,
    signal_counter, status_of, thaw, try_rows, wait_until, worker_of,
};
use nix::libc::{SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;
use zklock::process::sys;
use zklock_core::signal::{RTMAX, RTMIN, name};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// It connects to a server that doesn't answer.
    Silent,
    /// It connects to a server that refuses that.
    Refused,
    Waiting,
    /// HUP and INT are ignored when it starts.
    WaitingUnderNohup,
    /// TERM has ended the wait, and the answer to the delete is missing.
    Leaving,
    Running,
    RunningUnderNohup,
    /// A forced stop has begun.
    Stopping,
    /// The command has exited with 7, and the answer to the delete is missing.
    Releasing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    /// zklock dies of it; its node is deleted, and no process of its command is left.
    Ends,
    /// KILL to the command.
    Kills,
    Nothing,
    /// Nothing, and zklock says so.
    Noted,
}

use Does::{Ends, Kills, Noted, Nothing};
use Phase::{Leaving, Refused, Releasing, RunningUnderNohup, Silent, Stopping, Waiting, WaitingUnderNohup};

type Row = (&'static [Place], Phase, &'static [i32], Does);

const ALONE: &[Place] = &[Place::Plain];
const BOTH: &[Place] = &[Place::Plain, Place::Pid1];
/// [`each`], but those that mean something to a waiter.
const OTHERS: &[i32] = &[];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (BOTH,  Silent,            &ENDING,                                      Ends),
    (BOTH,  Refused,           &ENDING,                                      Ends),
    (BOTH,  Waiting,           &ENDING,                                      Ends),
    (BOTH,  Waiting,           OTHERS,                                       Noted),
    (BOTH,  Waiting,           &[SIGCONT, SIGTSTP],                          Nothing),
    (ALONE, Waiting,           &FAULTS,                                      Ends),
    (ALONE, WaitingUnderNohup, &[SIGHUP, SIGINT],                            Nothing),
    (ALONE, Leaving,           &ENDING,                                      Ends),
    (ALONE, Phase::Running,    &FAULTS,                                      Ends),
    (ALONE, RunningUnderNohup, &[SIGHUP, SIGINT],                            Nothing),
    (BOTH,  Stopping,          &[SIGTERM, SIGINT],                           Kills),
    (BOTH,  Stopping,          &[SIGHUP, SIGQUIT, SIGUSR1, RTMIN, SIGCONT, SIGTSTP], Nothing),
    (BOTH,  Releasing,         &[SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, RTMIN, SIGCONT, SIGTSTP], Nothing),
];

#[test]
fn each_signal_does_what_the_table_says() {
    let all = ROWS.iter().flat_map(|row| row.0.iter().map(move |place| (*place, *row)));
    let places: Vec<Place> = Place::possible().collect();
    try_rows(all.filter(|(place, _)| places.contains(place)), |(place, row)| try_row(place, row));
}

fn try_row(place: Place, (_, phase, signals, does): Row) {
    let means_something = |signal: &i32| ENDING.contains(signal) || [SIGCONT, SIGTSTP].contains(signal);
    let others: Vec<i32> = each().filter(|signal| !means_something(signal)).collect();
    let signals = if signals == OTHERS { &others } else { signals };
    if matches!(does, Ends | Kills) {
        for signal in signals {
            try_signals(place, phase, &[*signal], does);
        }
    } else {
        try_signals(place, phase, signals, does);
    }
}

fn try_signals(place: Place, phase: Phase, signals: &[i32], does: Does) {
    let proxy = Proxy::to(shared());
    let case = Case::new("phases");
    let is_waiter = matches!(phase, Waiting | WaitingUnderNohup | Leaving);
    let mut holder = is_waiter.then(|| case.holder());
    let (zklock, pid) = start(place, phase, &case, &proxy);
    let command = (phase == Phase::Running).then(|| command_of(zklock.pid()));
    for &signal in signals {
        // A release ends after a while although no server answers.
        let sent = sys::send(pid, signal);
        assert!(sent.is_ok() || phase == Releasing, "{signal}: {sent:?}");
        let is_noted = || zklock.said().contains(&format!("{} is ignored", name(signal)));
        wait_until("it to be noted", DEADLINE, || does != Noted || is_noted());
    }
    let left = usize::from(is_waiter);
    match does {
        Ends => {
            let output = zklock.wait();
            place.assert_died(&output, signals[0]);
            assert_eq!(output.stdout.replace("ready\n", ""), "");
            assert!(
                !["hung", "no server confirmed"].iter().any(|text| output.stderr.contains(text)),
                "{output}"
            );
            let is_gone = || case.contenders().len() == left;
            assert!(phase != Waiting || FAULTS.contains(&signals[0]) || is_gone(), "{output}");
            proxy.cut_all();
            proxy.release();
            case.observer().wait_for_contenders(case.path(), left, Duration::from_secs(20));
            wait_until("the command's end", DEADLINE, || !command.is_some_and(is_alive));
        }
        Kills => {
            zklock.wait().assert_code(123);
        }
        Nothing | Noted => assert_goes_on(place, phase, zklock, &proxy, &mut holder),
    }
    if let Some(holder) = holder {
        end(holder);
    }
}

/// A zklock in this phase.
#[track_caller]
fn start(place: Place, phase: Phase, case: &Case, proxy: &Proxy) -> (Placed, Pid) {
    match phase {
        Silent => proxy.blackhole(),
        Refused => proxy.refuse_new(true),
        Leaving | Releasing => proxy.once(op::DELETE, At::Hold),
        _ => {}
    }
    let go = case.dir().join("go");
    let releasing = format!("echo ready; until [ -e {} ]; do sleep 0.02; done; exit 7", go.display());
    let command = match phase {
        Phase::Running => ["sh", "-c", "echo ready; exec sleep 60"].map(str::to_owned).to_vec(),
        RunningUnderNohup | Stopping => signal_counter(false),
        Releasing => ["sh", "-c", &releasing].map(str::to_owned).to_vec(),
        _ => ["sh", "-c", "echo ran; exit 7"].map(str::to_owned).to_vec(),
    };
    let hosts = proxy.connect_string();
    let options = ["-vv", "-z", &hosts, "--connect-timeout", "300", "--kill-after", "600"];
    // Most faults would leave a core dump.
    let is_deaf = matches!(phase, WaitingUnderNohup | RunningUnderNohup);
    let prelude = if is_deaf { "trap '' HUP INT" } else { "ulimit -c 0" };
    let zklock = place.start(case.lock(&options, command).prelude(prelude));
    match phase {
        Silent | Refused => {
            let has_tried = || proxy.accepted() > 0 || zklock.said().contains("no session with");
            wait_until("a try to connect", DEADLINE, has_tried);
        }
        Waiting | WaitingUnderNohup | Leaving => {
            wait_until("its place", DEADLINE, || zklock.said().contains(": position "));
        }
        _ => zklock.wait_for("ready"),
    }
    let pid = zklock.pid();
    if phase == Leaving {
        zklock.signal(SIGTERM);
        proxy.wait_fired(1, DEADLINE);
    }
    if phase == Releasing {
        fs::write(go, "").expect("a file");
        proxy.wait_fired(1, DEADLINE);
    }
    if phase == Stopping {
        case.delete_node(0);
        zklock.wait_for(&format!("got {SIGCONT}"));
    }
    (zklock, pid)
}

fn assert_goes_on(place: Place, phase: Phase, zklock: Placed, proxy: &Proxy, holder: &mut Option<Running>) {
    if let Some(holder) = holder.take() {
        // Later than the ignored ones.
        zklock.signal(SIGCONT);
        end(holder);
    }
    match phase {
        RunningUnderNohup | Stopping => {
            // It has got nothing but the first signal of a forced stop.
            let command = command_of(zklock.pid());
            if phase == Stopping {
                sys::send(command, RTMAX).expect("the command");
            } else {
                zklock.signal(RTMAX);
            }
            zklock.wait_for(&format!("got {RTMAX}"));
            let mut got = got(&zklock.text(), "");
            got.sort_unstable();
            assert_eq!(got, if phase == Stopping { vec![SIGTERM, SIGCONT, RTMAX] } else { vec![RTMAX] });
            if phase == Stopping {
                // Within the grace this is KILL.
                zklock.signal(SIGTERM);
                zklock.wait().assert_code(123);
            } else {
                sys::send(command, SIGKILL).expect("the command");
                place.assert_died(&zklock.wait(), SIGKILL);
            }
        }
        Releasing => {
            proxy.release();
            zklock.wait().assert_code(7);
        }
        _ => assert_eq!(zklock.wait().assert_code(7).stdout, "ran\n"),
    }
}

/// Whether the process sleeps without a pending signal. With one it may be about to sleep, and handle the signal next.
fn is_idle(pid: Pid) -> bool {
    let is_empty = |mask| status_of(pid, mask).is_some_and(|mask| mask.trim_matches('0').is_empty());
    is_empty("ShdPnd")
        && is_empty("SigPnd")
        && status_of(pid, "State").is_some_and(|state| state.starts_with('S'))
}

/// The worker is frozen, so it finds both when it continues. SIGINT is left out: another thread of the monitor handles
/// it, so the test couldn't see when it is forwarded.
#[test]
fn a_signal_that_arrives_with_the_lock_prevents_the_command() {
    let case = Case::new("signal-with-the-lock");
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        let holder = case.holder();
        let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
        // The node exists before the waiter knows of it.
        waiter.wait_for_line(": position ", DEADLINE);
        let worker = worker_of(waiter.pid());
        freeze(worker);
        end(holder);
        waiter.signal(signal);
        // The signal has woken the monitor by now: once it sleeps again, it has forwarded the signal.
        wait_until("the monitor to sleep again", DEADLINE, || is_idle(waiter.pid()));
        thaw(worker);
        let output = waiter.wait(DEADLINE);
        assert_eq!(output.assert_signal(signal).stdout, "");
        // A command that is killed before it prints anything would still have been started.
        output.assert_stderr(&format!("left the queue: {}", signal.as_str().trim_start_matches("SIG")));
        assert_eq!(case.contenders(), [""; 0]);
    }
}
