//! The command of a zklock: a few processes, some of which obey TERM, ignore it, linger or leave the process group.

use zklock_core::exit::Exit;
use zklock_core::run::{LeaderChange, Reach};
use zklock_core::signal::SIGKILL;

/// How a command behaves.
#[derive(Debug, Clone)]
pub(crate) struct CommandBehaviour {
    /// How long it runs if nothing stops it, in nanoseconds.
    pub(crate) lasts: u64,
    /// How it ends then.
    pub(crate) exit: Exit,
    /// How long it takes to end after TERM; `None` if it ignores TERM.
    pub(crate) obeys: Option<u64>,
    /// Its other processes, in or out of its process group.
    pub(crate) others: Vec<Other>,
}

#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub(crate) lasts: u64,
    pub(crate) obeys: Option<u64>,
    pub(crate) in_group: bool,
}

/// One process of a command.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) in_group: bool,
    pub(crate) obeys: Option<u64>,
    /// When it ends, as far as is known now.
    pub(crate) ends: u64,
    pub(crate) exit: Exit,
    pub(crate) dead: bool,
    /// When it was stopped, if it is. A stopped process makes no progress.
    pub(crate) stopped: Option<u64>,
}

/// A command that was started. Its first process is the leader.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) processes: Vec<Process>,
    pub(crate) reaped: bool,
    /// The leader ended by itself, so the remaining processes are left alone.
    pub(crate) ended_by_itself: bool,
    /// If KILL ends the leader, it may come from another process than zklock.
    may_be_killed: bool,
    /// The leader has stopped or continued, and its parent hasn't seen it.
    pub(crate) unseen: Option<LeaderChange>,
}

impl Command {
    pub(crate) fn start(behaviour: &CommandBehaviour, now: u64) -> Self {
        let leader = Process {
            in_group: true,
            obeys: behaviour.obeys,
            ends: now + behaviour.lasts,
            exit: behaviour.exit,
            dead: false,
            stopped: None,
        };
        let others = behaviour.others.iter().map(|other| Process {
            in_group: other.in_group,
            obeys: other.obeys,
            ends: now + other.lasts,
            exit: Exit::Code(0),
            dead: false,
            stopped: None,
        });
        let processes = std::iter::once(leader).chain(others).collect();
        let may_be_killed = behaviour.exit == Exit::Signal(SIGKILL);
        Self { processes, reaped: false, ended_by_itself: false, may_be_killed, unseen: None }
    }

    /// Kills the leader from outside, unless it is dead.
    pub(crate) fn kill_leader(&mut self, now: u64) {
        if !self.leader().dead {
            let leader = &mut self.processes[0];
            (leader.stopped, leader.ends, leader.exit) = (None, now, Exit::Signal(SIGKILL));
            self.may_be_killed = true;
        }
    }

    /// Another process than zklock killed the leader, so the remaining processes must end.
    pub(crate) fn was_killed(&self) -> bool {
        self.may_be_killed && self.leader().exit == Exit::Signal(SIGKILL)
    }

    pub(crate) fn leader(&self) -> &Process {
        &self.processes[0]
    }

    /// What its parent sees of the leader. A stop or continuation is seen once.
    pub(crate) fn leader_change(&mut self) -> Option<LeaderChange> {
        if self.leader().dead {
            let by = if let Exit::Signal(signal) = self.leader().exit { Some(signal) } else { None };
            return Some(LeaderChange::Died { by });
        }
        self.unseen.take()
    }

    /// Whether any of its processes runs.
    pub(crate) fn runs(&self, now: u64) -> bool {
        let runs = |process: &Process| !process.dead && process.stopped.is_none() && process.ends > now;
        self.processes.iter().any(runs)
    }

    /// Whether a process that the lock has to protect runs. A stopped process does nothing.
    pub(crate) fn needs_the_lock(&self, now: u64) -> bool {
        !self.ended_by_itself && self.runs(now)
    }

    /// Whether no process is left, or none in its group, except perhaps a dead leader.
    pub(crate) fn none_left(&self, reach: Reach) -> bool {
        self.processes.iter().all(|process| process.dead || reach == Reach::Group && !process.in_group)
    }

    /// When the next of its processes ends.
    pub(crate) fn next_end(&self) -> Option<u64> {
        let running = self.processes.iter().filter(|process| !process.dead && process.stopped.is_none());
        running.map(|process| process.ends).min()
    }
}
