//! What a signal that zklock forwards does to the command, and the first one of a forced stop. Zklock does nothing else with it.

use super::{ENDING, Family, WHO, got};
use crate::support::{
    Case, DEADLINE, Place, command_of, freeze, is_alive, is_stopped, pass_time, signal_counter, start, thaw,
    try_rows, wait_until,
};
use nix::libc::{self, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGTERM};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;
use zklock::process::sys;
use zklock_core::signal::{RTMAX, RTMIN};

#[track_caller]
fn revoke(case: &Case) {
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
}

/// The pid at the end of this line.
#[track_caller]
fn pid_in(line: &str) -> Pid {
    Pid::from_raw(line.trim().rsplit(' ').next().unwrap().parse().expect("a pid"))
}

/// It may ignore the signal and take its time: the grace period is that of a forced stop, and the next one waits.
#[test]
fn a_command_decides_what_a_signal_does_and_keeps_the_lock_to_its_end() {
    let case = Case::new("decides");
    let go = case.dir().join("go");
    let script = format!(
        "n=0; trap 'echo no; n=$((n+1))' TERM INT; echo ready; while [ $n -lt 3 ]; do sleep 0.05; done; echo ending; \
         until [ -e {0} ]; do sleep 0.02; done; : >{0}.done; exit 7",
        go.display()
    );
    let running = start(&case, &["--kill-after", "0.2"], &script);
    let next = case.lock(&[], ["sh", "-c", &format!("[ -e {}.done ]", go.display())]).spawn();
    case.wait_for_contenders(2);
    for (before, signal) in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGTERM].into_iter().enumerate() {
        running.signal(signal);
        wait_until("the next ignored signal", DEADLINE, || running.stdout().count("no") > before);
    }
    running.wait_for_stdout("ending", DEADLINE);
    pass_time(Duration::from_secs(2));
    assert!(running.is_running() && case.contenders().len() == 2, "{}", running.stderr().text());
    fs::write(go, "").expect("a file");
    running.wait(DEADLINE).assert_code(7);
    next.wait(DEADLINE).assert_code(0);
}

#[test]
fn a_stop_of_zklock_is_left_to_zklock_and_real_time_signals_queue_meanwhile() {
    let case = Case::new("real-time-queue");
    for options in [&[][..], &["--single-child"]] {
        let running = case.lock(options, signal_counter(false)).spawn();
        running.wait_for_stdout("ready", DEADLINE);
        let command = command_of(running.pid());
        freeze(running.pid());
        assert!(!is_stopped(command));
        let mut sent = vec![RTMIN, 37, 37, 37, 41, 37, RTMIN];
        for signal in &sent {
            running.signal_number(*signal);
        }
        thaw(running.pid());
        // The CONT that continues zklock goes to the command, too.
        sent.extend([SIGCONT, RTMAX]);
        running.signal_number(RTMAX);
        running.wait_for_stdout(&format!("got {RTMAX}"), DEADLINE);
        let mut got = got(&running.stdout().text(), "");
        got.sort_unstable();
        sent.sort_unstable();
        assert_eq!(got, sent);
        sys::send(command, SIGKILL).expect("the command");
        running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    }
}

/// A stopped process can't end. Its parent, the command's first process, goes on and waits for it.
#[test]
fn a_signal_that_ends_a_command_continues_its_stopped_processes() {
    let case = Case::new("stopped-member");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        let script =
            "trap : INT TERM HUP QUIT; sh -c 'echo pid $$; kill -STOP $$; echo runs on'; echo ended $?";
        let running = case.lock(&[], ["bash", "-c", script]).spawn();
        let stopped = pid_in(&running.wait_for_stdout("pid ", DEADLINE));
        wait_until("the stop", DEADLINE, || is_stopped(stopped));
        running.signal(signal);
        let output = running.wait(DEADLINE);
        let expected = format!("pid {stopped}\nended {}\n", 128 + signal as i32);
        assert_eq!(output.assert_code(0).stdout, expected, "{signal}");
    }
}

/// Also the first process, and also those that `--single-child` spares: it couldn't end them.
#[test]
fn stopped_processes_go_on_for_a_forwarded_signal_and_a_forced_stop() {
    for (words, is_single) in [("PATH --", false), ("--single-child PATH --", true)] {
        let case = Case::new("stopped-go-on");
        let family = Family::start(&case, Place::Plain, words, None);
        let [first, member, _] = family.pids;
        for (round, signal) in ENDING.into_iter().chain([SIGTERM]).enumerate() {
            [first, member].into_iter().for_each(freeze);
            if round < ENDING.len() {
                family.signal(signal);
            } else {
                revoke(&case);
            }
            wait_until("both to go on", DEADLINE, || ![first, member].into_iter().any(is_stopped));
            family.wait_for("", signal, 1 + round / ENDING.len());
        }
        let got = got(&family.zklock.text(), WHO[1]);
        assert!(!is_single || got.iter().all(|signal| *signal == SIGCONT), "{got:?}");
        family.signal(SIGTERM);
        family.assert_all_gone().assert_code(123);
    }
}

/// As after `setpgrp` in a script, and in what a shell with job control runs. Without a terminal the first process leads a
/// session, which it can't leave.
#[test]
fn a_command_that_joined_another_process_group_gets_each_signal_once() {
    let case = Case::new("left-its-group");
    let mut terminal = case.lock(&["--kill-after", "600"], signal_counter(true)).in_terminal();
    terminal.expect("ready", DEADLINE);
    let (zklock, command) = (terminal.pid(), command_of(terminal.pid()));
    let send = |signal| sys::send(zklock, signal).expect("zklock");
    for signal in [libc::SIGUSR1, RTMIN + 3] {
        send(signal);
        terminal.expect(&format!("got {signal}\r\n"), DEADLINE);
    }
    // A stopped process can't end, whatever group it is in.
    for signal in ENDING {
        freeze(command);
        send(signal);
        terminal.expect(&format!("got {signal}\r\n"), DEADLINE);
    }
    revoke(&case);
    terminal.expect(&format!("got {SIGTERM}\r\n"), DEADLINE);
    let count = |signal| terminal.text().matches(&format!("got {signal}\r\n")).count();
    let counts = [SIGTERM, SIGINT, SIGHUP, libc::SIGQUIT, libc::SIGUSR1, RTMIN + 3].map(count);
    assert_eq!(counts, [2, 1, 1, 1, 1, 1], "{}", terminal.text());
    send(SIGINT);
    assert_eq!(terminal.wait(DEADLINE).code(), Some(123));
}

#[test]
fn a_first_process_may_leave_others_behind_but_not_after_a_forced_stop() {
    for is_forced in [false, true] {
        let case = Case::new("single-leaves");
        let family = Family::start(&case, Place::Plain, "--single-child PATH --", Some(SIGTERM));
        let [first, children @ ..] = family.pids;
        if is_forced {
            revoke(&case);
        } else {
            family.signal(SIGTERM);
        }
        wait_until("the first process to end", DEADLINE, || !is_alive(first));
        assert!(children.into_iter().all(is_alive), "{}", family.zklock.text());
        if is_forced {
            assert_eq!(case.contenders().len(), 1, "the lock is held until they are killed");
            // A second signal within the grace is KILL.
            family.signal(SIGTERM);
            let output = family.assert_all_gone();
            assert!(!output.assert_code(123).stdout.contains("member got"), "{output}");
        } else {
            family.zklock.wait().assert_code(7);
            case.wait_for_contenders(0);
            for child in children {
                kill(child, Signal::SIGKILL).expect("it lives on");
            }
        }
    }
}

/// The first process can't end them any more: no next holder should meet them, and none waits for KILL.
#[test]
fn a_signal_that_kills_a_single_child_reaches_the_others() {
    let case = Case::new("single-dies");
    let forks = "use POSIX; $| = 1; my $child = fork; if ($child) { print \"child $child\\n\" } \
                 elsif (@ARGV) { POSIX::setsid(); print \"up\\n\" } sleep 600";
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let running = case.lock(&["--single-child"], ["perl", "-e", forks]).spawn();
        let child = pid_in(&running.wait_for_stdout("child ", DEADLINE));
        running.signal(signal);
        running.wait(DEADLINE).assert_signal(signal);
        wait_until("its child's end", DEADLINE, || !is_alive(child));
    }
    for signal in ["TERM", "KILL", "RTMIN+3"] {
        let options = ["--single-child", "--kill-after", "600", "--signal", signal];
        let running = case.lock(&options, ["perl", "-e", forks, "setsid"]).spawn();
        running.wait_for_stdout("up", DEADLINE);
        revoke(&case);
        running.wait(DEADLINE).assert_code(123);
    }
}

/// The first process dies of a signal; its child ends a second after one, and notes it in a file, or ignores it.
fn a_tool_that_outlives_it(file: &str) -> [&str; 4] {
    let script = "$| = 1; if (fork == 0) { \
                  $SIG{$_} = sub { if ($ARGV[0]) { select undef, undef, undef, 1; open F, '>', $ARGV[0]; exit } } for qw(TERM INT HUP); \
                  print \"ready $$\\n\"; sleep 1 while 1 } sleep 600";
    ["perl", "-e", script, file]
}

/// As a shell dies of TERM before the tool that it waits for, which still works.
#[test]
fn the_lock_is_kept_until_the_group_of_a_command_that_a_signal_ended_has_ended() {
    let places: Vec<Place> = Place::possible().collect();
    let rows = [
        (Place::Plain, SIGTERM, true, None),
        (Place::Plain, SIGINT, true, Some("--single-child")),
        (Place::Plain, SIGTERM, false, None),
        (Place::Terminal, SIGHUP, true, None),
        (Place::Terminal, SIGTERM, false, None),
        (Place::Pid1, SIGTERM, true, None),
    ];
    try_rows(
        rows.into_iter().filter(|(place, ..)| places.contains(place)),
        |(place, signal, to_zklock, option)| {
            let case = Case::new("tool-ends");
            let file = case.dir().join("ended").display().to_string();
            let options: Vec<&str> = ["--kill-after", "600"].into_iter().chain(option).collect();
            let running = place.start(case.lock(&options, a_tool_that_outlives_it(&file)));
            running.wait_for("ready ");
            let next = case.lock(&[], ["test", "-e", &file]).spawn();
            case.wait_for_contenders(2);
            let (zklock, command) = (running.pid(), command_of(running.pid()));
            sys::send(if to_zklock { zklock } else { command }, signal).expect("the process");
            // As by Ctrl-Z.
            let tool = pid_in(running.text().lines().find(|line| line.starts_with("ready")).unwrap());
            if place != Place::Pid1 {
                wait_until("the first process's end", DEADLINE, || !is_alive(command));
                kill(tool, Signal::SIGSTOP).expect("a tool that takes its time");
            }
            place.assert_died(&running.wait(), signal);
            next.wait(DEADLINE).assert_code(0);
        },
    );
}

/// Those that a shell starts with `&` ignore INT, and what nohup starts ignores HUP.
#[test]
fn background_jobs_do_not_delay_the_end_of_a_command_that_a_signal_ended() {
    let case = Case::new("background-jobs");
    for (ignored, signal) in [("USR2", Signal::SIGINT), ("HUP", Signal::SIGHUP)] {
        let job = format!("trap '' {ignored}; sleep 600 >/dev/null 2>&1 & trap - {ignored}");
        let script = format!("{job}; echo ready $!; sleep 601; :");
        let running = case.lock(&["--kill-after", "600"], ["bash", "-c", &script]).spawn();
        let background = pid_in(&running.wait_for_stdout("ready ", DEADLINE));
        running.signal(signal);
        running.wait(DEADLINE).assert_signal(signal);
        kill(background, Signal::SIGKILL).expect("it lives on");
    }
}

#[test]
fn what_ignores_the_signal_that_ended_its_command_is_waited_for_during_the_grace_only() {
    let case = Case::new("tool-ignores");
    for (grace, is_revoked) in [("1.5", false), ("600", true)] {
        let running = case.lock(&["--kill-after", grace], a_tool_that_outlives_it("")).spawn();
        let tool = pid_in(&running.wait_for_stdout("ready ", DEADLINE));
        running.signal(Signal::SIGTERM);
        running.wait_for_line(
            "perl was ended by a signal, but processes of its group run on; the lock is kept",
            DEADLINE,
        );
        if is_revoked {
            revoke(&case);
            running.wait_for_line("TERM now, KILL in 10 min", DEADLINE);
            running.signal(Signal::SIGTERM);
            running.wait(DEADLINE).assert_code(123);
            assert!(!is_alive(tool));
        } else {
            let output = running.wait(DEADLINE);
            output
                .assert_signal(Signal::SIGTERM)
                .assert_stderr("left run on, and the lock is released beside them");
            assert!(output.elapsed >= Duration::from_millis(1_500), "{output}");
            kill(tool, Signal::SIGKILL).expect("it lives on");
        }
    }
}
