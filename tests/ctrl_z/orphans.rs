//! An orphaned process group, which no process could continue: the kernel discards the terminal's stop signals there,
//! and zklock's command fares as it would without zklock.

use super::script;
use crate::support::{Case, DEADLINE, Place, Shell, end, pass_time, wait_for, worker_of};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

const SIGNALS: [&str; 3] = ["TTIN", "TTOU", "TSTP"];

/// Commands that a signal would stop: the first process, the whole group, both again and again, with HUP ignored, and
/// the group without the first process.
fn stopping(signal: &str) -> [Vec<String>; 5] {
    let texts = [
        format!("kill -{signal} $$; echo printed"),
        format!("kill -{signal} 0; echo printed"),
        format!("for i in 1 2 3 4 5; do kill -{signal} $$; kill -{signal} 0; done; echo printed"),
        format!("trap '' HUP; kill -{signal} $$; echo printed"),
        format!("trap '' {signal}; env --default-signal={signal} sh -c 'kill -{signal} 0; echo printed'"),
    ];
    texts.map(|text| vec!["sh".to_owned(), "-c".to_owned(), text])
}

/// At a terminal, zklock's command either has it from the start, or hasn't asked for it.
#[test]
fn stop_signals_are_discarded_without_a_terminal_and_in_the_foreground_of_one() {
    let again = "\"$0\" \"$@\"; exit $?";
    for (place, prelude) in [(Place::Plain, ""), (Place::Terminal, ""), (Place::Terminal, again)] {
        let case = Case::new("orphan-signals");
        let run = |command: &[String], printed: &str| {
            let output = place.start(case.lock(&[], command).prelude(prelude)).wait();
            assert_eq!(output.assert_code(0).stdout, printed, "{place:?}: {command:?}");
            assert!(place == Place::Terminal || output.stderr.is_empty(), "{output}");
        };
        for signal in SIGNALS {
            for command in stopping(signal) {
                run(&command, "printed\n");
            }
            // A process that the first one doesn't stop with.
            let text = format!("sh -c 'kill -{signal} $$; echo printed'; echo ended");
            run(&["sh".to_owned(), "-c".to_owned(), text], "printed\nended\n");
        }
    }
}

/// It doesn't stop, so it keeps its place.
#[test]
fn a_waiter_keeps_its_place() {
    let case = Case::new("orphan-waiter");
    let holder = case.holder();
    let mut terminal = case.lock(&["-v"], ["echo", "ran"]).in_terminal();
    terminal.expect(": position 2", DEADLINE);
    let queue = case.contenders();
    terminal.send(b"\x1a");
    pass_time(Duration::from_millis(300));
    assert_eq!(case.contenders(), queue);
    end(holder);
    terminal.expect("ran", DEADLINE);
    assert_eq!(terminal.wait(DEADLINE).code(), Some(0), "{}", terminal.text());
}

/// Starts zklock with this job in the background of the shell's terminal, from a process that then ends.
#[track_caller]
fn orphan(case: &Case, shell: &mut Shell, job: &str) -> Pid {
    let pid = case.dir().join("pid");
    let line = format!("$zklock {} bash {job} </dev/tty & echo $! >{}", case.path(), pid.display());
    let starter = script(case, "start.sh", &line);
    shell.run(&format!("bash {starter}"), DEADLINE);
    let told = wait_for("its number", DEADLINE, || {
        fs::read_to_string(&pid).ok().filter(|told| told.ends_with('\n'))
    });
    Pid::from_raw(told.trim().parse().expect("a number"))
}

/// The processor time of a process, in hundredths of a second.
fn spent(pid: Pid) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn told(case: &Case) -> String {
    fs::read_to_string(case.dir().join("told")).unwrap_or_default()
}

/// A command in the background of a terminal appends to this file what it is told, and then this line. Its group is
/// orphaned once its parent, the worker, has left the session.
#[track_caller]
fn run_orphan(case: &Case, text: &str) -> String {
    let file = case.dir().join("told");
    let orphaned = "until [ $(ps -o sid= $PPID) != $(ps -o sid= $$) ]; do sleep 0.01; done";
    let job =
        script(case, "job.sh", &format!("exec >>{} 2>&1\n{orphaned}\n{text}\necho over $?", file.display()));
    let mut shell = case.shell();
    orphan(case, &mut shell, &job);
    let all = wait_for("its end", DEADLINE, || Some(told(case)).filter(|told| told.contains("over")));
    case.wait_for_contenders(0);
    all
}

#[test]
fn reading_from_the_terminal_in_the_background_is_an_error() {
    for text in ["read -r line </dev/tty", "timeout --foreground 60 bash -c 'read -r line </dev/tty'"] {
        let case = Case::new("orphan-reads");
        let all = run_orphan(&case, &format!("trap 'echo HUP' HUP\n{text}"));
        assert!(all.contains("Input/output error") && all.ends_with("over 1\n"), "{all}");
        assert!(!all.contains("HUP"), "{all}");
    }
}

#[test]
fn stop_signals_are_discarded_in_the_background_of_a_terminal() {
    for signal in SIGNALS {
        let case = Case::new("orphan-background");
        let text = format!("trap 'echo HUP' HUP\nkill -{signal} $$; kill -{signal} 0; echo printed");
        assert_eq!(run_orphan(&case, &text), "printed\nover 0\n");
    }
}

#[test]
fn a_command_that_tries_to_read_again_costs_zklock_nothing() {
    let case = Case::new("orphan-tries");
    let file = case.dir().join("told");
    let text = format!("until read -r line </dev/tty; do echo again >>{}; sleep 0.3; done", file.display());
    let job = script(&case, "job.sh", &text);
    let mut shell = case.shell();
    let zklock = orphan(&case, &mut shell, &job);
    wait_for("it to try again", DEADLINE, || (told(&case).matches("again").count() > 1).then_some(()));
    let worker = worker_of(zklock);
    let before = spent(zklock) + spent(worker);
    pass_time(Duration::from_secs(2));
    let cost = spent(zklock) + spent(worker) - before;
    assert!(cost < 20, "{cost} hundredths of a second in two: {}", told(&case));
    assert_eq!(case.contenders().len(), 1, "it runs, and holds its lock");
    nix::sys::signal::kill(zklock, nix::sys::signal::Signal::SIGKILL).expect("zklock");
    case.wait_for_contenders(0);
}
