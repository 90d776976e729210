//! Carries out a row of [`super::keys`]: runs a line in a shell, and then types and expects, step by step.

use crate::support::{
    Case, DEADLINE, History, LATE, Running, Shell, WORKER, assert_no_processes, command_of, end, freeze,
    is_alive, is_stopped, pass_time, processes_of, signal_printer, try_for, wait_for, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid, getsid};
use std::fs;
use std::time::Duration;

/// A shell in which a line runs, and what the line uses.
pub(super) struct Scene {
    shell: Shell,
    /// What `stty -a` says of the terminal.
    settings: String,
    line: String,
    held: Case,
    holder: Option<Running>,
    history: History,
    case: Case,
}

impl Scene {
    /// Types the line. In it, `LOCK` stands for zklock with the case's lock, `$held` for a lock that is held, `JOB` for a job that
    /// exits with 6, `PRINTER` for a program that prints its signals and exits with 4 at QUIT, and `SCRIPT` for a file with what
    /// follows ` <<< `.
    pub(super) fn start(name: &str, line: &str) -> Self {
        let (case, held) = (Case::new("keys"), Case::new("keys-held"));
        let history = case.history();
        let [job, script] = ["job.sh", "script"].map(|name| case.dir().join(name));
        fs::write(&job, format!("{}; exit 6", history.steady_job("only"))).expect("a script");
        let replaced = line
            .replace("LOCK", "$zklock $lock --")
            .replace("JOB", &format!("bash {}", job.display()))
            .replace("PRINTER", &signal_printer(&["QUIT=4"]).join(" "))
            .replace("SCRIPT", &script.display().to_string())
            .replace("$held", held.path());
        let (replaced, text) = replaced.split_once(" <<< ").unwrap_or((&replaced, ""));
        fs::write(script, text).expect("a script");
        let holder = line.contains("$held").then(|| held.holder());
        let mut shell = Shell::start(name, &case);
        let settings = if name == "bash" { shell.run("stty -a", DEADLINE) } else { String::new() };
        shell.enter(replaced, DEADLINE);
        Self { shell, settings, line: line.to_owned(), held, holder, history, case }
    }

    /// Carries out one step: a key, what the shell or another process does, or a text that appears on the screen.
    pub(super) fn step(&mut self, step: &str) {
        let terminal = self.shell.terminal();
        match step.split_once(' ').unwrap_or((step, "")) {
            ("^C" | "^\\" | "^D", "") => {
                // The worker is in zklock's group while it starts the command, and then forwards the key, too.
                wait_until("the worker to leave the group", DEADLINE, || self.no_worker_gets_keys());
                self.shell.terminal().send(&[step.as_bytes()[1] & 0x1f]);
            }
            // The answer to a line comes after the prompt of `bg`, which may be late.
            ("^C", "at the prompt") => {
                self.shell.code(DEADLINE);
                self.shell.terminal().send(b"\x03");
                self.shell.prompt(DEADLINE);
            }
            ("^Z", "") => self.stop(),
            // `fg` follows at once.
            ("^Z", "fg") => {
                terminal.send(b"\x1a");
                self.shell.prompt(DEADLINE);
                self.shell.terminal().send(b"fg\n");
            }
            ("^Z", "alone") => terminal.send(b"\x1a"),
            // A waiter may end at once.
            ("fg", "") if self.line.contains("$held") => self.shell.enter("fg", DEADLINE),
            ("fg", "") => {
                self.shell.fg();
                self.wait_until_all_run();
            }
            ("bg", "") => {
                self.shell.enter("bg", DEADLINE);
                self.wait_until_all_run();
            }
            ("key", keys) => terminal.send(keys.as_bytes()),
            ("type", line) => terminal.send(format!("{line}\n").as_bytes()),
            ("resize", "") => terminal.resize(40, 100),
            ("close", "") => terminal.hang_up(),
            ("asleep", count) => {
                let count = count.parse().unwrap_or(1);
                wait_until("sleep to run", DEADLINE, || self.sleepers() == count);
            }
            // A job in the background.
            ("stopped", "") => {
                wait_until("the stop", DEADLINE, || self.shell.run("jobs", DEADLINE).contains("Stopped"));
                assert_eq!(self.case.contenders().len(), 1, "the lock is kept");
            }
            ("goes", "on") => {
                let last = || self.history.sections().unwrap().first().map(|section| section.last);
                let before = last();
                wait_until("the job to go on", DEADLINE, || last() > before);
            }
            ("finish", "") => self.history.finish("only"),
            ("let", "go") => {
                end(self.holder.take().expect("a holder"));
                pass_time(Duration::from_secs(1));
            }
            ("revoke", "") => {
                self.case.zklock().args(["revoke", self.case.path()]).run().assert_code(0);
            }
            ("kill", victim) => self.kill(victim),
            ("send", signal) => {
                kill(self.zklock(), signal.parse::<Signal>().expect("a signal")).expect("zklock");
            }
            _ => drop(terminal.expect(step, DEADLINE)),
        }
    }

    /// The shell's prompt comes with this code, and nothing is left of the line: no process, no node, no lost key.
    pub(super) fn assert_ended(mut self, code: i32, steps: &[String]) {
        let rest = self.shell.prompt(LATE);
        assert!(!rest.contains("round"), "{rest}");
        assert!(rest == "\n" || steps.last().is_none_or(|step| step != "<typed>"), "{rest}");
        // ksh adds 256 to the number of a signal.
        let added = if self.shell.name() == "ksh" && code > 128 { 128 } else { 0 };
        assert_eq!(self.shell.code(DEADLINE), code + added, "{}", self.shell.terminal().text());
        assert_eq!(self.shell.foreground(), self.shell.pid());
        assert_eq!(self.sleepers(), 0);
        for path in [self.case.path(), &format!("{}-b", self.case.path())] {
            assert_eq!(self.case.observer().children(path), [""; 0]);
        }
        let runs = self.history.sections().unwrap();
        assert!(runs.len() <= 1 && runs.iter().all(|run| run.ended), "{runs:?}");
        if steps.iter().any(|step| step == "resize") {
            assert_eq!(self.shell.run("stty size", DEADLINE), "40 100\n");
        } else if self.shell.name() == "bash" && !self.line.contains("stty sane") {
            assert_eq!(self.shell.run("stty -a", DEADLINE), self.settings);
        }
        let text = self.shell.terminal().text();
        assert!(!text.lines().any(|line| ["reached", "not reached"].contains(&line.trim())), "{text}");
        for got in steps.iter().filter(|step| step.starts_with("got ") && *step != "got CONT") {
            let expected = steps.iter().filter(|step| *step == got).count();
            assert_eq!(text.matches(got.as_str()).count(), expected, "{got}: {text}");
        }
        if let Some(holder) = self.holder {
            end(holder);
        }
    }

    /// The closed window ends all that the shell ran.
    pub(super) fn assert_closed(self) {
        assert_no_processes(self.case.marker(), DEADLINE);
        self.case.wait_for_contenders(0);
        self.held.wait_for_contenders(usize::from(self.holder.is_some()));
        if let Some(holder) = self.holder {
            end(holder);
        }
    }

    /// Types Ctrl-Z, which stops all of the job. A holder keeps its lock, and a waiter leaves the queue.
    fn stop(&mut self) {
        let message = match self.line.as_str() {
            line if line.contains("$zklock wait") => "Stopped",
            line if line.contains("$held") => "stopped: left the queue",
            _ => "the lock is kept; fg or bg continues it",
        };
        let told = |shell: &mut Shell| shell.terminal().text().matches(message).count();
        let (before, nodes) = (told(&mut self.shell), self.case.contenders());
        self.shell.terminal().send(b"\x1a");
        self.shell.prompt(LATE);
        // zklock stops after half a second even if its message is not written by then.
        wait_until(message, DEADLINE, || told(&mut self.shell) > before);
        let all_stop = try_for(DEADLINE, || self.job().into_iter().all(is_stopped).then_some(()));
        assert!(all_stop.is_some(), "{:#?}", processes_of(self.case.marker()));
        assert!(self.shell.name() != "bash" || self.shell.code(DEADLINE) == 148);
        assert_eq!(self.shell.foreground(), self.shell.pid());
        assert_eq!(self.case.contenders(), nodes);
        self.held.wait_for_contenders(usize::from(self.holder.is_some()));
    }

    /// A key that is typed before may reach a process together with CONT, which undoes a stop.
    fn wait_until_all_run(&self) {
        wait_until("all processes to go on", DEADLINE, || !self.job().into_iter().any(is_stopped));
    }

    /// The processes in the shell's session but workers.
    fn job(&self) -> Vec<Pid> {
        let all = processes_of(self.case.marker()).into_iter();
        let all = all.filter(|(_, name)| !name.starts_with(WORKER)).map(|(pid, _)| pid);
        let shell = self.shell.pid();
        all.filter(|pid| *pid != shell && getsid(Some(*pid)) == Ok(shell)).collect()
    }

    fn no_worker_gets_keys(&self) -> bool {
        let all = processes_of(self.case.marker()).into_iter();
        let mut workers = all.filter(|(_, name)| name.starts_with(WORKER));
        workers.all(|(pid, _)| getpgid(Some(pid)) != Ok(self.shell.foreground()))
    }

    fn sleepers(&self) -> usize {
        processes_of(self.case.marker()).iter().filter(|(_, name)| name.starts_with("sleep 6")).count()
    }

    /// The zklock that the shell or its script has started.
    fn zklock(&self) -> Pid {
        wait_for("zklock", DEADLINE, || {
            let all = processes_of(self.case.marker()).into_iter();
            all.filter(|(_, name)| name.starts_with(env!("CARGO_BIN_EXE_zklock"))).map(|(pid, _)| pid).min()
        })
    }

    /// Kills a process of zklock, or both at once: neither acts on the death of the other.
    fn kill(&self, victim: &str) {
        let zklock = self.zklock();
        let (worker, command) = (worker_of(zklock), command_of(zklock));
        let victims = match victim {
            "monitor" => vec![zklock],
            "worker" => vec![worker],
            // A worker that stands still doesn't act. The shell would see a stop of the other process.
            "both" => {
                freeze(worker);
                vec![zklock, worker]
            }
            _ => vec![command],
        };
        for pid in &victims {
            // The kernel continues the worker when the monitor dies: it may be gone already.
            let sent = kill(*pid, Signal::SIGKILL);
            assert!(sent.is_ok() || victim == "both" && *pid == worker, "{sent:?}");
        }
        wait_until("the command to die", DEADLINE, || !is_alive(command));
        self.case.wait_for_contenders(0);
    }
}
