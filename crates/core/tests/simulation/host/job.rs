//! The command of a zklock: starting, signalling, stopping, killing and reaping it.

use std::time::Duration;

use zklock_core::exit::{Exit, FAILURE};
use zklock_core::pair::Stage;
use zklock_core::run::{Effect, Input, KillRound, LeaderChange, Reach};
use zklock_core::signal::{SIGCONT, SIGKILL, SIGSTOP, SIGTSTP, SIGUSR1, ends_waiting};
use zklock_core::time::BootTime;

use super::has_terminal;
use crate::command::Command;
use crate::world::{Event, World};

impl World {
    pub(super) fn start_command(
        &mut self,
        index: usize,
        variables: Vec<(String, String)>,
        latest: Option<BootTime>,
        deadline: Option<BootTime>,
    ) {
        if !self.zklocks[index].worker.starting {
            self.zklocks[index].worker.starting = true;
            self.zklocks[index].page.stage = Some(Stage::Running);
            self.set_deadline(index, deadline);
            let takes = self.zklocks[index].contender.pace.start(&mut self.rng);
            let worker = &mut self.zklocks[index].worker;
            worker.busy_until = self.now + takes;
            worker.unfinished = Some(Effect::StartCommand { variables, latest, deadline });
            return;
        }
        let zklock = &mut self.zklocks[index];
        if latest.is_some_and(|latest| zklock.clock(self.now) >= latest) {
            return self.answer_worker(index, Input::Started(Err((FAILURE, "too late".to_owned()))));
        }
        let locks = variables.iter().find(|(name, _)| name == "ZKLOCK_LOCKS");
        let locks = locks.map_or("", |(_, value)| value);
        self.trace.print(self.now, || format!("zklock {index} starts its command: {locks}"));
        self.zklocks[index].command = Some(Command::start(&self.zklocks[index].contender.command, self.now));
        self.check_start(index, locks);
        self.expect_command(index);
        self.answer_worker(index, Input::Started(Ok(())));
    }

    pub(super) fn expect_command(&mut self, index: usize) {
        if let Some(end) = self.zklocks[index].command.as_ref().and_then(Command::next_end) {
            self.at(end, Event::Command(index));
        }
    }

    /// Ends the processes of the command whose time has come.
    pub(crate) fn command_moves(&mut self, index: usize) {
        let now = self.now;
        if self.zklocks[index].command.is_none() {
            return;
        }
        let mut changed = false;
        let gone_by = self.zklocks[index].gone_by;
        let command = self.zklocks[index].command.as_mut().unwrap();
        for (number, process) in command.processes.iter_mut().enumerate() {
            if !process.dead && process.stopped.is_none() && process.ends <= now {
                if gone_by.is_some_and(|by| by < now) && !command.ended_by_itself {
                    self.checks
                        .violated(|| format!("the command of zklock {index} runs on, and should be gone"));
                }
                process.dead = true;
                changed = true;
                if number == 0 {
                    self.trace
                        .print(now, || format!("the command of zklock {index} ends: {:?}", process.exit));
                }
            }
        }
        if changed {
            self.tell_worker(index, Input::Child);
        }
        self.expect_command(index);
    }

    pub(super) fn reap_command(&mut self, index: usize) {
        let worker_forces = self.zklocks[index].worker.stop_began;
        let zklock = &self.zklocks[index];
        let command = zklock.command.as_ref().unwrap();
        // What a signal has left of the group gets time to end.
        if !worker_forces
            && matches!(command.leader().exit, Exit::Signal(signal) if ends_waiting(signal))
            && !command.none_left(Reach::Group)
            && zklock.clock(self.now) < zklock.clock(command.leader().ends) + zklock.contender.kill_after
        {
            self.checks
                .violated(|| format!("zklock {index} doesn't wait for the rest of its command's group"));
        }
        let command = self.zklocks[index].command.as_mut().unwrap();
        command.reaped = true;
        command.ended_by_itself = !worker_forces && !command.was_killed();
        let exit = command.leader().exit;
        self.answer_worker(index, Input::Reaped(Some(exit)));
    }

    pub(super) fn signal_command(&mut self, index: usize, signal: i32, reach: Reach) {
        let now = self.now;
        let has_terminal = has_terminal(index);
        let Some(command) = &mut self.zklocks[index].command else { return };
        let mut leader = None;
        for (number, process) in command.processes.iter_mut().enumerate() {
            if process.dead
                || number > 0 && reach == Reach::Leader
                || reach != Reach::All && !process.in_group
            {
                continue;
            }
            match signal {
                // The kernel doesn't stop a process in a session of its own.
                SIGTSTP if !has_terminal => {}
                SIGTSTP | SIGSTOP => {
                    if process.stopped.replace(process.stopped.unwrap_or(now)).is_none() && number == 0 {
                        leader = Some(LeaderChange::Stopped(signal));
                    }
                }
                SIGCONT => {
                    if let Some(since) = process.stopped.take() {
                        process.ends = process.ends.saturating_add(now - since);
                        leader = leader.or((number == 0).then_some(LeaderChange::Continued));
                    }
                }
                SIGKILL => {}
                signal => {
                    let ends = process.obeys.filter(|_| signal != SIGUSR1);
                    if let Some(ends) = ends.map(|after| now + after).filter(|ends| *ends < process.ends) {
                        process.ends = ends;
                        process.exit = Exit::Signal(signal);
                    }
                }
            }
        }
        if leader.is_some() {
            command.unseen = leader;
            self.zklocks[index].worker.inbox.push_back(Input::Child);
        }
        self.expect_command(index);
        if signal == SIGCONT {
            self.commands_are_alive();
        }
    }

    pub(super) fn look_at_children(&mut self, index: usize, reach: Reach) {
        let Some(command) = &mut self.zklocks[index].command else { return };
        let leader = command.leader_change();
        let none_left = Some(reach).filter(|&reach| reach != Reach::Leader && command.none_left(reach));
        self.answer_worker(index, Input::Children { leader, none_left });
    }

    pub(super) fn kill_round(&mut self, index: usize) {
        self.zklocks[index].worker.stop_began = true;
        self.kill_command(index);
        let (zklock, gone) = (&self.zklocks[index], self.none_left(index));
        let next = (!gone).then(|| zklock.clock(self.now) + Duration::from_millis(5));
        self.answer_worker(index, Input::KillRound(KillRound { gone, next, stuck: false, left: vec![] }));
    }

    /// Whether no process of the command is left, except perhaps a dead leader.
    pub(crate) fn none_left(&self, index: usize) -> bool {
        self.zklocks[index].command.as_ref().is_none_or(|command| command.none_left(Reach::All))
    }

    pub(super) fn kill_command(&mut self, index: usize) {
        let now = self.now;
        let pace = self.zklocks[index].contender.pace;
        let Some(command) = &mut self.zklocks[index].command else { return };
        for process in &mut command.processes {
            if !process.dead && (process.stopped.is_some() || process.ends > now + pace.longest_kill()) {
                process.stopped = None;
                process.ends = now + pace.kill(&mut self.rng);
                process.exit = Exit::Signal(SIGKILL);
            }
        }
        self.expect_command(index);
    }
}
