//! How long zklock may take at most, and what it must not do without a reason: lose its lease, report its node as
//! deleted, end everything.

use zklock_core::protocol::Reply;
use zklock_core::queue::name::Mode;
use zklock_core::queue::order::{Decision, decide};

use super::scenario::Contender;
use super::world::{Event, SessionOwner, World};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// How often `check_what_runs` is called.
pub(crate) const LOOK_EVERY: u64 = S;

/// The time that a quorum write takes besides the client's line: up to 0.4 ms for each of four hops, and 0.5 ms for the
/// disk, twice.
const SERVERS_TAKE: u64 = 3 * MS;

impl Contender {
    /// The round trip of a quorum write, R.
    fn trip(&self) -> u64 {
        2 * self.line + SERVERS_TAKE
    }

    /// Whether the line is quick enough. On a slower one zklock may be refused: in steady rhythm an answer leaves a lease of
    /// 7T/12 less six trips, and the next comes T/12 and a trip later. A trip may take a twentieth longer.
    pub(crate) fn is_quick(&self) -> bool {
        self.trip() * 15 / 2 <= stops_after(self.session_timeout) - self.session_timeout / 2
    }
}

/// How long after the last confirmation that counts the stop begins, with a `--kill-after` of at least T/12.
fn stops_after(timeout: u64) -> u64 {
    timeout - (timeout / 12).max(200 * MS) - timeout / 12
}

impl World {
    /// Checks that every zklock that could run its command does so within three session timeouts and five seconds: that
    /// is enough to notice a dead connection, to get another and to earn a lease. A contender for a slot learns from its
    /// predecessor that it is first, and that one from its own.
    pub(crate) fn check_what_runs(&mut self) {
        self.after(LOOK_EVERY, Event::Look);
        if !self.ensemble.is_whole() {
            self.calm_since = self.now;
        }
        let all = self.zklocks.iter().map(|zklock| zklock.contender.session_timeout);
        let (count, longest) = (all.len() as u64, all.max().unwrap_or_default());
        for index in 0..self.zklocks.len() {
            let could_run = self.may_run(index);
            let (now, zklock) = (self.now, &mut self.zklocks[index]);
            if !could_run {
                zklock.entitled = None;
                continue;
            }
            let since = *zklock.entitled.get_or_insert(now);
            let told_by = if matches!(zklock.contender.mode, Mode::Slots(2..)) { count } else { 1 };
            let calm = since.max(zklock.troubled).max(self.calm_since);
            if now > calm + told_by * (3 * longest + 5 * S) {
                let took = std::time::Duration::from_nanos(now - since);
                self.checks.violated(|| format!("zklock {index} could run for {took:?}, and doesn't"));
            }
        }
    }

    /// Whether it still waits although the servers show all its locks as its own.
    fn may_run(&self, index: usize) -> bool {
        let zklock = &self.zklocks[index];
        let waits =
            zklock.has_begun() && zklock.command.is_none() && zklock.works() && !zklock.was_starting();
        let is_left_alone = !zklock.is_stopped()
            && !self.is_frozen(SessionOwner::Worker(index))
            && zklock.signals.is_empty()
            && !zklock.was_hit
            && !zklock.node_deleted
            && zklock.contender.is_quick();
        if !waits || !is_left_alone || self.zklocks[index].is_leaving() {
            return false;
        }
        self.is_first(index)
    }

    /// Whether the servers show every lock as its own.
    fn is_first(&self, index: usize) -> bool {
        let nodes = self.nodes_of(index);
        let is_first = |node: &String| {
            let (lock, name) = node.rsplit_once('/').unwrap();
            decide(&self.ensemble.children(lock), name) == Decision::Hold
        };
        nodes.len() == self.zklocks[index].contender.locks.len() && nodes.iter().all(is_first)
    }

    /// Notes whether a list of the queue contains zklock's own node.
    pub(crate) fn note_list(&mut self, owner: SessionOwner, reply: &Reply) {
        let (SessionOwner::Worker(index), Reply::Listed(Ok(names))) = (owner, reply) else { return };
        let zklock = &mut self.zklocks[index];
        if zklock.contender.locks.len() == 1 && !zklock.own.is_empty() {
            let is_listed = |node: &String| names.iter().any(|name| node.ends_with(name.as_str()));
            zklock.missing = !zklock.own.iter().any(is_listed);
        }
    }

    /// Checks that no lease ends while the command runs unless there is a fault.
    pub(crate) fn check_loss(&mut self, index: usize) {
        if self.scenario.faults.is_empty() && self.zklocks[index].contender.is_quick() {
            self.checks.violated(|| format!("zklock {index} lost its lease, and had no reason to"));
        }
    }

    /// Checks that a node that zklock reports as deleted is gone.
    pub(crate) fn check_deleted(&mut self, index: usize, lock: &str) {
        let is_below = |node: &String| node.rsplit_once('/').is_some_and(|(parent, _)| parent == lock);
        if let Some(node) = self.nodes_of(index).into_iter().find(is_below) {
            self.checks
                .violated(|| format!("zklock {index} says that its node is deleted, and {node} exists"));
        }
    }

    /// Checks that a monitor that ends all processes does so because of a fault.
    pub(crate) fn check_end(&mut self, index: usize) {
        let zklock = &self.zklocks[index];
        if !zklock.was_hit && zklock.signals.is_empty() && zklock.troubled == 0 {
            self.checks
                .violated(|| format!("the monitor of zklock {index} ends everybody, and had no reason to"));
        }
    }
}
