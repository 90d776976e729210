//! An orphaned zklock in the background of a terminal: a command that reads learns that it won't get the terminal.

use super::script;
use crate::support::{Case, DEADLINE, Shell, is_alive, pass_time, wait_for, wait_until, worker_of};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

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

#[test]
fn it_gets_hup_and_dies_of_it() {
    let case = Case::new("orphan-dies");
    let job = script(&case, "job.sh", "read -r line </dev/tty; echo read");
    let mut shell = case.shell();
    let zklock = orphan(&case, &mut shell, &job);
    wait_until("its end", DEADLINE, || !is_alive(zklock));
    case.wait_for_contenders(0);
}

/// The command gets the signals once, and ignoring them costs no processor time.
#[test]
fn it_gets_hup_and_cont_once_and_no_process_spins() {
    let case = Case::new("orphan-deaf");
    let file = case.dir().join("told");
    let text = format!(
        "trap 'echo HUP >>{0}' HUP; trap 'echo CONT >>{0}' CONT\n\
         until read -r line </dev/tty; do echo again >>{0}; done; exit 3",
        file.display()
    );
    let job = script(&case, "job.sh", &text);
    let mut shell = case.shell();
    let zklock = orphan(&case, &mut shell, &job);
    wait_until("it to be told", DEADLINE, || told(&case).contains("HUP"));
    pass_time(Duration::from_millis(500));
    let worker = worker_of(zklock);
    let before = (told(&case), spent(zklock) + spent(worker));
    pass_time(Duration::from_secs(2));
    let cost = spent(zklock) + spent(worker) - before.1;
    assert!(cost < 20, "{cost} hundredths of a second in two: {}", told(&case));
    assert_eq!(told(&case).matches("HUP").count(), 1, "{}", told(&case));
    assert_eq!(told(&case).matches("CONT").count(), 1, "{}", told(&case));
    assert_eq!(case.contenders().len(), 1, "it runs, and holds its lock");
    nix::sys::signal::kill(zklock, nix::sys::signal::Signal::SIGKILL).expect("zklock");
    case.wait_for_contenders(0);
}
