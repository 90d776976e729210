//! Faults that hit a zklock: cuts, kills, freezes, signals and changes to its node.

use zklock_core::protocol::{Asker, QuestionIndex, Request};
use zklock_core::run::Input;
use zklock_core::signal::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, ends_waiting};

use crate::ensemble::Direction;
use crate::fault::{Fault, Target};
use crate::scenario::PlannedFault;
use crate::world::{Event, World};

impl World {
    pub(crate) fn apply_fault(&mut self, index: usize, fault: Fault, lasts: u64) {
        match fault {
            Fault::BlackholeToServers => self.cut_for(index, &[Direction::ToServer], lasts),
            Fault::BlackholeToClients => self.cut_for(index, &[Direction::ToClient], lasts),
            Fault::Blackhole => self.cut_for(index, &[Direction::ToServer, Direction::ToClient], lasts),
            Fault::CutClients => self.reset(index),
            Fault::KillWorker => {
                if self.zklocks[index].worker.alive {
                    self.zklocks[index].was_hit = true;
                    self.zklocks[index].worker.frozen = true;
                    self.worker_ends(index);
                }
            }
            Fault::KillMonitor => {
                let zklock = &mut self.zklocks[index];
                if zklock.monitor.alive {
                    zklock.was_hit = true;
                    zklock.monitor.alive = false;
                    if !zklock.worker.frozen {
                        zklock.gone_by = Some(self.now + 1_000_000_000);
                    }
                    self.tell_worker(index, Input::MonitorDied);
                }
            }
            Fault::KillFirstProcess => {
                let now = self.now;
                if let Some(command) = self.zklocks[index].command.as_mut().filter(|command| !command.reaped)
                {
                    command.kill_leader(now);
                    self.at(now, Event::Command(index));
                }
            }
            Fault::StopWorker => {
                if self.zklocks[index].worker.alive {
                    self.zklocks[index].was_hit = true;
                    self.zklocks[index].worker.frozen = true;
                    self.after(lasts, Event::Thaw(index, true));
                }
            }
            Fault::StopMonitor => {
                if self.zklocks[index].monitor.alive {
                    self.zklocks[index].ends_by = None;
                    self.zklocks[index].told_to_end = None;
                    self.zklocks[index].monitor.frozen = true;
                    self.after(lasts, Event::Thaw(index, false));
                }
            }
            Fault::SuspendHost => self.suspend(index, lasts),
            Fault::Suspend => self.signal(index, SIGTSTP),
            Fault::Continue => self.signal(index, SIGCONT),
            Fault::Terminate => self.signal(index, SIGTERM),
            Fault::Interrupt => self.signal(index, SIGINT),
            Fault::HangUp => self.signal(index, SIGHUP),
            Fault::UserSignal => self.signal(index, SIGUSR1),
            Fault::DeleteNode => {
                let nodes = self.nodes_of(index);
                self.expect_stop(index, &nodes);
                for node in nodes {
                    self.zklocks[index].node_deleted = true;
                    self.checks.evict(index);
                    if let Some(operator) = self.operator {
                        self.ask(operator, Asker::Question(QuestionIndex(0)), Request::Delete(node.into()));
                    }
                }
            }
            Fault::Revoke => {
                let nodes = self.nodes_of(index);
                self.expect_stop(index, &nodes);
                for node in nodes {
                    if let Some(operator) = self.operator {
                        self.ask(
                            operator,
                            Asker::Question(QuestionIndex(0)),
                            Request::Write(node.into(), b"__REVOKE__".to_vec(), -1),
                        );
                    }
                }
            }
            _ => panic!("{fault} isn't simulated"),
        }
    }

    /// Notes when a command must be gone whose lock is revoked or deleted, if nothing else hits its zklock.
    fn expect_stop(&mut self, index: usize, nodes: &[String]) {
        let hits =
            |planned: &&PlannedFault| planned.who == index || planned.fault.target() == Target::Servers;
        let is_untroubled = self.scenario.faults.iter().filter(hits).count() == 1;
        let zklock = &mut self.zklocks[index];
        if is_untroubled && !nodes.is_empty() {
            let grace = u64::try_from(zklock.contender.kill_after.as_nanos()).unwrap();
            let takes = grace + 6 * zklock.contender.line + 2_000_000_000;
            zklock.gone_by = Some(self.now + takes);
        }
    }

    pub(crate) fn apply_server_fault(&mut self, server: usize, fault: Fault) {
        match fault {
            Fault::KillServer => self.ensemble.crash(server),
            Fault::FreezeServer => self.ensemble.freeze(server),
            Fault::IsolateServer => self.ensemble.set_isolated(server, true),
            Fault::LagServer => self.ensemble.set_lag(server, 3_000_000_000),
            _ => panic!("{fault} isn't simulated"),
        }
    }

    fn cut_for(&mut self, index: usize, directions: &[Direction], lasts: u64) {
        self.set_cut(index, directions, true);
        self.after(lasts, Event::Heal(index));
    }

    pub(super) fn signal(&mut self, index: usize, signal: i32) {
        let zklock = &mut self.zklocks[index];
        if !zklock.monitor.alive {
            return;
        }
        zklock.signals.push(signal);
        if ends_waiting(signal)
            && zklock.command.is_none()
            && !zklock.monitor.stopped
            && !zklock.monitor.frozen
        {
            // Silent servers get five seconds, and another five if the session was lost meanwhile; the rest is for delays.
            zklock.ends_by.get_or_insert(self.now + 14_000_000_000);
            zklock.told_to_end.get_or_insert(self.now);
        }
        if signal == SIGCONT {
            zklock.monitor.stopped = false;
            zklock.monitor.signals.retain(|&waiting| waiting != SIGTSTP);
        }
        if !zklock.monitor.signals.contains(&signal) {
            zklock.monitor.signals.push_back(signal);
        }
        self.wake_monitor_at(index, self.now + 50_000);
    }

    pub(crate) fn thaw(&mut self, index: usize, worker: bool) {
        if worker {
            if self.zklocks[index].monitor.ending && self.zklocks[index].monitor.alive {
                return self.end_all_processes(index);
            }
            if self.zklocks[index].worker.alive && self.zklocks[index].worker.frozen {
                self.trace.print(self.now, || format!("the worker of zklock {index} goes on"));
                self.zklocks[index].worker.frozen = false;
                self.zklocks[index].worker.woken();
                self.thaw_sessions(index);
                self.work(index);
            }
            return;
        }
        let monitor = &mut self.zklocks[index].monitor;
        let was_stopped = std::mem::take(&mut monitor.stopped);
        let was_frozen = std::mem::take(&mut monitor.frozen);
        if was_stopped {
            self.signal(index, SIGCONT);
        }
        if was_stopped || was_frozen {
            self.thaw_sessions(index);
            self.watch(index);
        }
    }
}
