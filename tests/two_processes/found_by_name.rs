//! Programs that find processes by name find the monitor and never the worker: whatever an operator kills with one of
//! them, the worker is left to end the command and to release the lock.

use super::{HAND_OFF, worker_of};
use crate::support::{
    Case, DEADLINE, Running, children_of, command_of, end, processes_of, skip, status_of, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::process::Command;

/// The pids that a program prints, but only this case's: other tests run at the same time. `None` without the program.
fn found_by(case: &Case, program: &str, arguments: &[&str]) -> Option<Vec<Pid>> {
    let output = match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.expect(program),
    };
    // killall prints messages, and those on stderr: "Killed zklock(4711) with signal 0".
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).expect("UTF-8").replace(['(', ')'], " ");
    let own: Vec<Pid> = processes_of(case.marker()).into_iter().map(|(pid, _)| pid).collect();
    let pids = printed.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw);
    Some(pids.filter(|pid| own.contains(pid)).collect())
}

/// All pids of the case that an operator's programs find for a zklock whose file has this name.
fn found(case: &Case, name: &str) -> Vec<Pid> {
    let mut all = vec![];
    let searches: [(&str, &[&str]); 6] = [
        ("pgrep", &[name]),
        ("pgrep", &["-x", name]),
        ("pgrep", &["-f", name]),
        ("pgrep", &["-f", case.path()]),
        ("pidof", &[name]),
        ("killall", &["-s", "0", "-v", name]),
    ];
    for (program, arguments) in searches {
        match found_by(case, program, arguments) {
            Some(pids) => {
                assert!(!pids.is_empty(), "{program} {arguments:?} finds not even the monitor");
                all.extend(pids);
            }
            None => skip(&format!("there is no {program}")),
        }
    }
    all.sort();
    all.dedup();
    all
}

fn kill_all_at_once(pids: &[Pid]) {
    let pids = pids.iter().map(ToString::to_string);
    Command::new("kill").arg("-9").args(pids).output().expect("kill");
}

fn names(pids: &[Pid]) -> Vec<Option<String>> {
    pids.iter().map(|&pid| status_of(pid, "Name")).collect()
}

/// What is killed then is a row of [`super::killed`].
#[test]
fn all_that_is_found_are_monitors() {
    let case = Case::new("found");
    let second = format!("{}-b", case.path());
    let inner =
        [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), &second, "--", "sh", "-c", "echo ready; sleep 60"];
    let outer = case.lock(&[], inner).spawn();
    outer.wait_for_stdout("ready", DEADLINE);
    let waiter = case.lock(&[], ["echo", "must not run"]).spawn();
    case.wait_for_contenders(2);
    worker_of(waiter.pid());
    let inner = children_of(worker_of(outer.pid())).first().expect("the inner zklock").0;
    let mut monitors = vec![outer.pid(), inner, waiter.pid()];
    monitors.sort();
    let found = found(&case, "zklock");
    assert_eq!(found, monitors, "{:?}", names(&found));
    end(waiter);
    end(outer);
}

#[test]
fn the_worker_is_not_found_whatever_zklock_s_file_is_called_and_wherever_it_is() {
    for name in ["my-lock", "a-lock-with-a-long-name"] {
        let case = Case::new("found-renamed");
        symlink(env!("CARGO_BIN_EXE_zklock"), case.dir().join(name)).expect("a link");
        let renamed = format!("cd '{}' && exec ./{name} \"$@\"", case.dir().display());
        let running: Running =
            case.lock(&[], ["sh", "-c", "echo ready; exec sleep 60"]).prelude(&renamed).spawn();
        running.wait_for_stdout("ready", DEADLINE);
        let comm: String = name.chars().take(15).collect();
        for (program, arguments) in [
            ("pgrep", vec![comm.as_str()]),
            ("pgrep", vec!["-f", name]),
            ("pgrep", vec!["-f", case.path()]),
            ("pidof", vec![name]),
        ] {
            let Some(found) = found_by(&case, program, &arguments) else { continue };
            assert_eq!(found, [running.pid()], "{program} {arguments:?}: {:?}", names(&found));
        }
        kill(running.pid(), Signal::SIGKILL).expect("the monitor");
        case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
        running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    }
}

/// Such a search finds the monitor and the command, but not the worker. It must not take the death of the command for
/// its end, and release the lock beside what is left of the command.
#[test]
fn killing_monitor_and_command_leaves_no_process_of_the_command() {
    let case = Case::new("found-command");
    let script = case.dir().join("nightly.sh");
    fs::write(&script, "setsid sleep 61 & echo ready; sleep 62; :").expect("a script");
    for _ in 0..10 {
        let holder = case.lock(&[], [OsStr::new("bash"), script.as_os_str()]).spawn();
        holder.wait_for_stdout("ready", DEADLINE);
        let both = [holder.pid(), command_of(holder.pid())];
        let found = || found_by(&case, "pgrep", &["-f", script.to_str().expect("UTF-8")]).expect("pgrep");
        let worker = worker_of(holder.pid());
        let family = || -> Vec<Pid> {
            let all = processes_of(case.marker()).into_iter().map(|(pid, _)| pid);
            all.filter(|pid| ![holder.pid(), worker].contains(pid)).collect()
        };
        // Both children have been started, and are programs of their own.
        wait_until("the command's family", DEADLINE, || family().len() == 3 && found() == both);
        let family: Vec<_> = family().iter().map(ToString::to_string).collect();
        let look = format!("for pid in {}; do kill -0 $pid && echo $pid is alive; done", family.join(" "));
        let next = case.lock(&[], ["bash", "-c", &format!("{look}; :")]).spawn();
        case.wait_for_contenders(2);
        kill_all_at_once(&both);
        assert_eq!(next.wait(HAND_OFF).assert_code(0).stdout, "");
        assert!(holder.wait(DEADLINE).assert_signal(Signal::SIGKILL).closed);
    }
}

#[test]
fn killing_the_command_alone_ends_what_it_has_started_before_the_release() {
    let case = Case::new("killed-command");
    let script = "trap '' TERM; setsid sleep 61 & sleep 62 & echo ready; wait";
    let holder = case.lock(&["-v"], ["bash", "-c", script]).spawn();
    holder.wait_for_stdout("ready", DEADLINE);
    kill(command_of(holder.pid()), Signal::SIGKILL).expect("the command");
    let output = holder.wait(DEADLINE);
    output
        .assert_signal(Signal::SIGKILL)
        .assert_stderr("was killed; the processes that it has left are killed");
    assert!(output.closed, "{output}");
    assert_eq!(processes_of(case.marker()), []);
}

/// As `pkill -f nightly.sh` does: monitor and command get TERM, and its child gets it once, through either.
#[test]
fn a_term_to_the_command_reaches_its_group_whether_or_not_the_monitor_got_it() {
    let case = Case::new("term-command");
    let child = "trap 'echo child; exit' TERM; echo ready; while :; do read -rt 0.05 -u 9; done";
    let script = format!("exec 9<> <(:); bash -c '{}' & wait", child.replace('\'', "'\\''"));
    for with_monitor in [false, true] {
        let holder = case.lock(&[], ["bash", "-c", &script]).spawn();
        holder.wait_for_stdout("ready", DEADLINE);
        let command = command_of(holder.pid());
        for pid in [Some(command), with_monitor.then_some(holder.pid())].into_iter().flatten() {
            kill(pid, Signal::SIGTERM).expect("a process");
        }
        let output = holder.wait(DEADLINE);
        assert_eq!(output.assert_signal(Signal::SIGTERM).stdout.matches("child").count(), 1, "{output}");
    }
}
