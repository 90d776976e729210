//! With `--single-child`, signals reach the command's first process alone, and KILL reaches every descendant.

use crate::support::{
    Case, DEADLINE, Output, Proxy, Running, Shell, command_of, freeze, is_alive, is_stopped, shared,
    signal_counters, wait_until, worker_of,
};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use zklock::process::sys;
use zklock_core::signal::{RTMAX, RTMIN};

const OPTION: &[&str] = &["--single-child"];

/// A command with two children: one in its process group, and one in a session of its own.
struct Family {
    running: Running,
    leader: Pid,
    children: [Pid; 2],
}

impl Family {
    /// The first process exits with 7 at the signal `last`.
    #[track_caller]
    fn start(case: &Case, options: &[&str], last: Option<i32>) -> Self {
        Self::of(case.lock(options, signal_counters(last)).spawn())
    }

    #[track_caller]
    fn of(running: Running) -> Self {
        let pid = |name| {
            let line = running.wait_for_stdout(name, DEADLINE);
            Pid::from_raw(line.trim().rsplit(' ').next().unwrap().parse().expect("a pid"))
        };
        let leader = pid("ready ");
        let children = ["member ", "outside "].map(pid);
        Self { running, leader, children }
    }

    /// The signals that a process has got, of which this one is sent to it last.
    #[track_caller]
    fn got(&self, who: &str, pid: Pid) -> Vec<i32> {
        sys::send(pid, RTMAX).expect("a process of the command");
        let got = |line: &str| line.strip_prefix(who)?.strip_prefix("got ")?.trim().parse().ok();
        let all = || self.running.stdout().text().lines().filter_map(got).collect::<Vec<i32>>();
        wait_until("the last signal", DEADLINE, || all().contains(&RTMAX));
        all().into_iter().filter(|&signal| signal != RTMAX).collect()
    }

    /// Asserts that the first process has got these signals, in whatever order, and its children none.
    #[track_caller]
    fn assert_only_the_first_got(&self, expected: &[i32]) {
        let mut expected = expected.to_vec();
        let mut got = self.got("", self.leader);
        expected.sort_unstable();
        got.sort_unstable();
        assert_eq!(got, expected);
        assert_eq!(self.got("member ", self.children[0]), [0; 0], "{}", self.running.stdout().text());
        assert_eq!(self.got("outside ", self.children[1]), [0; 0]);
    }

    /// Waits for the end of zklock, at which no process may be left.
    #[track_caller]
    fn assert_all_gone(self) -> Output {
        let output = self.running.wait(DEADLINE);
        for pid in [self.leader].into_iter().chain(self.children) {
            assert!(!is_alive(pid), "{pid} outlived zklock: {output}");
        }
        output
    }
}

#[test]
fn forwarded_signals_reach_the_first_process_alone() {
    let case = Case::new("single-forwarded");
    let file = case.dir().join("zklock.toml");
    fs::write(&file, "single-child = true\n").expect("a file");
    let signals = [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGWINCH,
        libc::SIGCONT,
        RTMIN + 1,
        RTMIN + 1,
    ];
    for options in [OPTION, &["--config", file.to_str().unwrap()]] {
        let family = Family::start(&case, options, None);
        for (number, &signal) in signals.iter().enumerate() {
            family.running.signal_number(signal);
            // One is sent twice.
            let sent = signals[..=number].iter().filter(|&&before| before == signal).count();
            let line = format!("got {signal}");
            let got = || family.running.stdout().text().lines().filter(|got| got.trim() == line).count();
            wait_until("the signal", DEADLINE, || got() >= sent);
        }
        family.assert_only_the_first_got(&signals);
        kill(family.leader, Signal::SIGKILL).expect("the first process");
        family.assert_all_gone().assert_signal(Signal::SIGKILL);
    }
}

#[test]
fn without_the_option_signals_reach_the_group() {
    let case = Case::new("not-single");
    let file = case.dir().join("zklock.toml");
    fs::write(&file, "single-child = false\n").expect("a file");
    let family = Family::start(&case, &["--config", file.to_str().unwrap()], None);
    family.running.signal(Signal::SIGTERM);
    family.running.wait_for_stdout(&format!("member got {}", libc::SIGTERM), DEADLINE);
    assert_eq!(family.got("member ", family.children[0]), [libc::SIGTERM]);
    assert_eq!(family.got("outside ", family.children[1]), [0; 0]);
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    for signal in [libc::SIGTERM, libc::SIGCONT] {
        family.running.wait_for_stdout(&format!("outside got {signal}"), DEADLINE);
    }
    family.running.signal(Signal::SIGTERM);
    family.assert_all_gone().assert_code(123);
}

/// However it begins: by a request, by the end of the node, or because no server answers.
#[test]
fn a_forced_stop_begins_with_the_first_process_and_kills_all() {
    let revoke: fn(&Case, &Proxy) = |case, _| {
        case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    };
    let force: fn(&Case, &Proxy) = |case, _| {
        case.zklock().args(["revoke", "--force", case.path()]).run().assert_code(0);
    };
    let delete: fn(&Case, &Proxy) = |case, _| {
        case.observer().delete(&format!("{}/{}", case.path(), case.contenders()[0]));
    };
    let silence: fn(&Case, &Proxy) = |_, proxy| proxy.blackhole();
    let term = (&[][..], libc::SIGTERM);
    let other = (&["--signal", "RTMIN+3"][..], RTMIN + 3);
    // The lease gives the sixth part of the timeout between the first signal and KILL.
    for (begin, timeout, (options, signal)) in
        [(revoke, "30", term), (force, "30", other), (delete, "30", term), (silence, "14", other)]
    {
        let proxy = Proxy::to(shared());
        let case = Case::new("single-forced").through(&proxy.connect_string());
        let options = [OPTION, &["--session-timeout", timeout, "--kill-after", "60"], options].concat();
        let family = Family::start(&case, &options, None);
        begin(&case, &proxy);
        for signal in [signal, libc::SIGCONT] {
            family.running.wait_for_stdout(&format!("got {signal}"), DEADLINE);
        }
        family.running.signal(Signal::SIGINT);
        let output = family.assert_all_gone();
        output.assert_code(123);
        let others = ["member got", "outside got"];
        assert!(!others.iter().any(|other| output.stdout.contains(other)), "{output}");
        proxy.pass();
    }
}

#[test]
fn the_lock_is_held_until_what_the_first_process_has_left_is_killed() {
    let case = Case::new("single-leaves");
    let family = Family::start(&case, &["--single-child", "--kill-after", "60"], Some(libc::SIGTERM));
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    wait_until("the first process to end", DEADLINE, || !is_alive(family.leader));
    assert!(family.children.into_iter().all(is_alive), "{}", family.running.stdout().text());
    assert_eq!(case.contenders().len(), 1);
    // A second signal within the grace is KILL.
    family.running.signal(Signal::SIGTERM);
    let output = family.assert_all_gone();
    output.assert_code(123);
    assert!(!output.stdout.contains("member got"), "{output}");
}

#[test]
fn the_first_process_may_leave_others_behind_as_without_the_option() {
    let case = Case::new("single-ends");
    let family = Family::start(&case, OPTION, Some(libc::SIGTERM));
    family.running.signal(Signal::SIGTERM);
    let Family { running, children, .. } = family;
    running.wait(DEADLINE).assert_code(7);
    case.wait_for_contenders(0);
    for child in children {
        kill(child, Signal::SIGKILL).expect("it lives on");
    }
}

/// The first process can't end them any more, and no next holder should meet them.
#[test]
fn a_signal_that_kills_the_first_process_reaches_the_rest_of_its_group() {
    let case = Case::new("single-dies");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let forks = "$| = 1; my $child = fork; print \"child $child\\n\" if $child; sleep 600";
        let running = case.lock(OPTION, ["perl", "-e", forks]).spawn();
        let line = running.wait_for_stdout("child ", DEADLINE);
        let child = Pid::from_raw(line.trim().rsplit(' ').next().unwrap().parse().expect("a pid"));
        running.signal(signal);
        running.wait(DEADLINE).assert_signal(signal);
        wait_until("its child's end", DEADLINE, || !is_alive(child));
    }
}

/// The first process can't end them any more, so none waits for KILL.
#[test]
fn a_first_signal_of_a_forced_stop_that_kills_the_first_process_reaches_all() {
    let case = Case::new("single-dies-by-force");
    for signal in ["TERM", "KILL", "RTMIN+3"] {
        let options = ["--single-child", "--kill-after", "600", "--signal", signal];
        let forks = "use POSIX; $| = 1; if (!fork) { POSIX::setsid(); print \"up\\n\" } sleep 600";
        let running = case.lock(&options, ["perl", "-e", forks]).spawn();
        running.wait_for_stdout("up", DEADLINE);
        case.zklock().args(["revoke", case.path()]).run().assert_code(0);
        running.wait(DEADLINE).assert_code(123);
    }
}

#[test]
fn a_stopped_process_goes_on_so_that_the_first_one_can_end_it() {
    let case = Case::new("single-stopped");
    let family = Family::start(&case, &["--single-child", "--kill-after", "60"], None);
    let [member, _] = family.children;
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        for pid in [family.leader, member] {
            freeze(pid);
        }
        family.running.signal(signal);
        wait_until("both to go on", DEADLINE, || ![family.leader, member].into_iter().any(is_stopped));
        family.running.wait_for_stdout(&format!("got {}", signal as i32), DEADLINE);
    }
    for pid in [family.leader, member] {
        freeze(pid);
    }
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    wait_until("both to go on", DEADLINE, || ![family.leader, member].into_iter().any(is_stopped));
    wait_until("TERM once more", DEADLINE, || {
        family.running.stdout().text().matches("\ngot 15\n").count() == 2
    });
    let got = family.got("member ", member);
    assert!(got.iter().all(|&signal| signal == libc::SIGCONT), "{got:?}");
    family.running.signal(Signal::SIGTERM);
    family.assert_all_gone().assert_code(123);
}

#[test]
fn everything_is_killed_if_either_process_of_zklock_is() {
    let case = Case::new("single-killed");
    for kills_worker in [true, false] {
        let family = Family::start(&case, OPTION, None);
        let zklock = family.running.pid();
        let killed = if kills_worker { worker_of(zklock) } else { zklock };
        kill(killed, Signal::SIGKILL).expect("a process of zklock");
        let Family { running, leader, children } = family;
        let output = running.wait(DEADLINE);
        assert_eq!(output.code, kills_worker.then_some(123), "{output}");
        wait_until("the end of all", DEADLINE, || ![leader].into_iter().chain(children).any(is_alive));
        case.wait_for_contenders(0);
    }
}

/// The inner zklock is the command, and so is what it becomes.
#[test]
fn inside_another_zklock_the_option_of_the_outer_one_counts() {
    let case = Case::new("single-inside");
    for (outer, inner, is_single) in [(OPTION, &[][..], true), (&[], OPTION, false)] {
        let zklock = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts()];
        let words = [&zklock[..], inner, &[case.path(), "--"]].concat();
        let words = words.into_iter().map(str::to_owned);
        let command: Vec<String> = words.chain(signal_counters(None)).collect();
        let family = Family::of(case.lock(outer, command).spawn());
        family.running.signal(Signal::SIGTERM);
        family.running.wait_for_stdout("got 15", DEADLINE);
        let got = family.got("member ", family.children[0]);
        assert_eq!(got.is_empty(), is_single, "{got:?}");
        kill(family.leader, Signal::SIGKILL).expect("the first process");
        family.assert_all_gone().assert_signal(Signal::SIGKILL);
    }
}

/// Its first process is the inner zklock, which signals its own command.
#[test]
fn the_command_of_an_inner_zklock_gets_a_signal_once() {
    let case = Case::new("single-inner");
    let other = format!("{}-other", case.path());
    let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), &other, "--"].map(str::to_owned);
    let command: Vec<String> = inner.into_iter().chain(signal_counters(None)).collect();
    let family = Family::of(case.lock(&["--single-child", "--kill-after", "60"], command).spawn());
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    for who in ["", "member "] {
        family.running.wait_for_stdout(&format!("{who}got 15"), DEADLINE);
    }
    assert_eq!(family.got("outside ", family.children[1]), [0; 0], "its own zklock doesn't stop it by force");
    family.running.signal(Signal::SIGTERM);
    let output = family.assert_all_gone();
    output.assert_code(123);
    assert_eq!(output.stdout.matches("got 15\n").count(), 2, "{output}");
}

/// The kernel sends the signals of keys to the whole group, whatever zklock does.
#[test]
fn the_keys_of_the_terminal_reach_the_whole_group() {
    let case = Case::new("single-keys");
    let mut terminal = case.lock(OPTION, signal_counters(None)).in_terminal();
    terminal.expect("ready", DEADLINE);
    for (key, signal) in [(b"\x03", libc::SIGINT), (b"\x1c", libc::SIGQUIT)] {
        terminal.send(key);
        let got = || terminal.text().matches(&format!("got {signal}\r\n")).count() == 2;
        wait_until("both to get it", DEADLINE, got);
    }
    kill(command_of(terminal.pid()), Signal::SIGKILL).expect("the first process");
    terminal.wait(DEADLINE);
}

#[test]
fn ctrl_z_stops_the_whole_group_also_in_a_script() {
    let case = Case::new("single-script");
    let mut shell: Shell = case.shell();
    let script = case.dir().join("script");
    let body =
        format!("\"$zklock\" --single-child {} -- perl -e 'fork; sleep 61'; echo over $?\n", case.path());
    fs::write(&script, body).expect("a script");
    shell.enter(&format!("zklock=$zklock bash {}", script.display()), DEADLINE);
    let sleeps = || {
        let all = crate::support::processes_of(case.marker()).into_iter();
        all.filter(|(_, name)| name.starts_with("perl")).map(|(pid, _)| pid).collect::<Vec<_>>()
    };
    wait_until("both to sleep", DEADLINE, || sleeps().len() == 2);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    wait_until("both to be stopped", DEADLINE, || sleeps().into_iter().all(is_stopped));
    shell.fg();
    wait_until("both to go on", DEADLINE, || !sleeps().into_iter().any(is_stopped));
    shell.terminal().send(b"\x03");
    shell.prompt(DEADLINE);
    wait_until("both to end", DEADLINE, || sleeps().is_empty());
}
