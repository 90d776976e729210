//! zklock's file is replaced or removed while zklock runs from it, as in an upgrade: a holder and waiters end as ever, also in ways
//! that need code which hasn't run before, and nothing is started from another file.
//!
//! A row is what is done to the file `zklock`, how the holder is ended then, its end, and what it says. To add one, add a line to [`ROWS`].

use crate::support::{Case, DEADLINE, Running, skip, try_rows, worker_of};
use nix::sys::signal::Signal::{self, SIGKILL, SIGTERM};
use nix::sys::signal::kill;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    ByItself,
    Term,
    Revoke,
    KillWorker,
    KillMonitor,
}

use End::{ByItself, KillMonitor, KillWorker, Revoke, Term};

type Row = (&'static str, End, Result<i32, Signal>, &'static str);

/// `new` is a script that would tell that it was started; `later` is a later version.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("mv later zklock",                      ByItself,    Ok(5),        ""),
    ("install later zklock",                 ByItself,    Ok(5),        ""),
    ("cp -f later zklock",                   ByItself,    Ok(5),        ""),
    ("cp --remove-destination later zklock", ByItself,    Ok(5),        ""),
    ("rm zklock",                            ByItself,    Ok(5),        ""),
    ("mv new zklock",                        ByItself,    Ok(5),        ""),
    ("mv new zklock",                        Term,        Err(SIGTERM), ""),
    ("mv new zklock",                        Revoke,      Ok(123),      "revoked by"),
    ("mv new zklock",                        KillWorker,  Ok(123),      "the worker process was killed"),
    ("mv new zklock",                        KillMonitor, Err(SIGKILL), ""),
];

#[test]
fn a_queue_goes_on_after_its_file_is_replaced_or_removed() {
    try_rows(ROWS.iter().copied(), try_row);
}

fn try_row((way, end, ends, says): Row) {
    let case = Case::new("replaced");
    let program = installed(&case);
    let (new, started) = (case.dir().join("new"), case.dir().join("started"));
    fs::write(&new, format!("#!/bin/sh\ntouch {}\n", started.display())).expect("a script");
    // What follows the last section of a program is never read.
    let later = [fs::read(&program).expect("zklock"), b"later".to_vec()].concat();
    fs::write(case.dir().join("later"), &later).expect("a later version");
    for file in ["new", "later"] {
        let permissions = fs::metadata(&program).expect("zklock").permissions();
        fs::set_permissions(case.dir().join(file), permissions).expect("a program");
    }
    let (holder, mut waiters) = queue(&case, &program);
    let status = Command::new("sh").args(["-c", way]).current_dir(case.dir()).status();
    assert!(status.is_ok_and(|status| status.success()));
    for zklock in waiters.iter().chain([&holder]) {
        let file = fs::read_link(format!("/proc/{}/exe", zklock.pid())).expect("a running zklock");
        assert!(file.to_string_lossy().ends_with(" (deleted)"), "{}", file.display());
    }
    if way.contains("later") {
        assert!(fs::read(&program).expect("zklock") == later);
        // It queues behind those that run from the old file.
        waiters.push(waiter(&case, &program, 5));
    }
    match end {
        ByItself => fs::write(case.dir().join("go"), "").expect("a file"),
        Term => holder.signal(SIGTERM),
        Revoke => assert_eq!(case.zklock().args(["revoke", case.path()]).run().code, Some(0)),
        KillWorker => kill(worker_of(holder.pid()), SIGKILL).expect("a worker"),
        KillMonitor => holder.signal(SIGKILL),
    }
    let output = holder.wait(DEADLINE);
    match ends {
        Ok(code) => output.assert_code(code).assert_stderr(says),
        Err(signal) => output.assert_signal(signal),
    };
    assert_eq!(output.stdout, "running\n");
    assert!(end != ByItself || output.stderr.is_empty(), "{output}");
    for waiter in waiters {
        let output = waiter.wait(DEADLINE);
        assert_eq!((output.assert_code(6).stderr.as_str(), &*output.stdout), ("", "ran\n"));
    }
    assert!(!started.exists());
}

/// Copies the program under test into the case's directory, where it can be replaced.
fn installed(case: &Case) -> PathBuf {
    let program = case.dir().join("zklock");
    fs::copy(env!("CARGO_BIN_EXE_zklock"), &program).expect("a copy of zklock");
    program
}

/// A holder and three waiters that run from `program`.
#[track_caller]
fn queue(case: &Case, program: &Path) -> (Running, Vec<Running>) {
    let go = case.dir().join("go");
    let hold = format!("echo running; until [ -e {} ]; do sleep 0.01; done; exit 5", go.display());
    let holder = case.lock(&[], ["sh", "-c", &hold]).program(program).spawn();
    holder.wait_for_stdout("running", DEADLINE);
    (holder, (2..=4).map(|place| waiter(case, program, place)).collect())
}

#[track_caller]
fn waiter(case: &Case, program: &Path, place: usize) -> Running {
    let waiter = case.lock(&[], ["sh", "-c", "echo ran; exit 6"]).program(program).spawn();
    case.wait_for_contenders(place);
    waiter
}

/// Linux 6.11 and 6.12 permit it.
#[test]
fn the_file_can_t_be_overwritten_while_zklock_runs() {
    let case = Case::new("overwritten");
    let program = installed(&case);
    let running = case.lock(&[], ["sh", "-c", "echo ready; sleep 60"]).program(&program).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    match OpenOptions::new().append(true).open(&program) {
        Ok(_) => skip("this kernel lets a running program's file be written"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ExecutableFileBusy),
    }
    crate::support::end(running);
}
