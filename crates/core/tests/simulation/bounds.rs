//! Upper bounds on how long things may take.

use zklock_core::protocol::Reply;
use zklock_core::queue::name::{Mode, Name};
use zklock_core::queue::order::{Decision, decide};

use super::aim::What;
use super::host::Zklock;
use super::scenario::Contender;
use super::world::{Event, SessionOwner, World};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// How often `check_what_runs` is called.
pub(crate) const LOOK_EVERY: u64 = 200 * MS;

/// The time that a quorum write takes besides the client's line: up to 0.4 ms for each of four hops, and 0.5 ms for the
/// disk, twice.
const SERVERS_TAKE: u64 = 3 * MS;

/// The longest that zklock waits for its messages to be written; T/8 if that is less.
const WORDS: u64 = 500 * MS;

impl Contender {
    /// The round trip of a quorum write, R.
    fn trip(&self) -> u64 {
        2 * self.line + SERVERS_TAKE
    }

    /// The time from when the lock is free at the leader until the command runs, if nothing has gone wrong. The watch
    /// fires and the queue is listed (2R). Then zklock reads the record of the last success, or waits for a
    /// confirmation if none was answered yet, or for three if the first were slow (4R). Then it waits for its messages
    /// to be written, and starts the command.
    ///
    /// A new lease counts from the connect request. The create is answered up to 9R later, and the second confirmation
    /// after a third of T renews the lease, at most 7T/12 and 13R after the connect request. The stop would begin after
    /// 5T/6, so no zklock has to wait for a fresh lease while 13R, and the time for which messages can hold up a
    /// confirmation, are less than T/4. On a slower line the lease may have to be earned, and once more if messages have
    /// held up a confirmation.
    ///
    /// A confirmation that messages hold up is measured longer by that time. If it then looks too slow for T, which is
    /// so from T/16 on, and after the rhythm of a waiter from T/24 on, the next one is waited for, which is sent T/12 after
    /// it.
    fn hand_off(&self) -> u64 {
        let (trip, timeout) = (self.trip(), self.session_timeout);
        let held_up = WORDS.min(timeout / 8);
        let is_renewed = 13 * trip + held_up < timeout / 4;
        let lease = match () {
            () if !is_renewed => 2 * self.earns_a_lease(),
            () if trip + held_up > timeout / 24 => timeout / 12 + trip,
            () => 0,
        };
        6 * trip + lease + WORDS + 10 * MS + LOOK_EVERY
    }

    /// Earning a lease takes T/3 and three confirmations, each sent T/12 after the answer to the one before.
    fn earns_a_lease(&self) -> u64 {
        self.session_timeout / 3 + 3 * (self.session_timeout / 12 + self.trip())
    }

    /// The same after a fault. The client takes T/8 to notice that its connection is dead. An attempt that began during
    /// the fault is given up after at most T/4; a pause of up to 1.25 s follows. An expired lease has to be earned again.
    fn comes_back(&self) -> u64 {
        let timeout = self.session_timeout;
        timeout / 8 + timeout / 4 + 2 * S + self.earns_a_lease() + self.hand_off()
    }

    /// Whether the line is quick enough. On a slower one zklock may be refused: in steady rhythm an answer leaves a lease of
    /// 7T/12 less six trips, and the next comes T/12 and a trip later. A trip may take a twentieth longer.
    pub(crate) fn is_quick(&self) -> bool {
        self.trip() * 15 / 2 <= stops_after(self.session_timeout) - self.session_timeout / 2
    }
}

impl Contender {
    /// Whether its host never lets it wait for a processor for so long that this costs the lock.
    ///
    /// In steady rhythm the oldest confirmation that counts was sent 7T/12 and 5R before the next answer: T/3 to the next
    /// one that counts, three pauses of T/12, and five trips. From when it was sent until the stop begins, the waits take
    /// as much as falls into it, at each place where zklock sends or hears something. One percent of T is left
    /// for timers, which are late by a 500th, and for the clock's drift.
    pub(crate) fn keeps_up(&self) -> bool {
        let Some(stall) = self.stall else { return true };
        let span = stops_after(self.session_timeout);
        let waits = span.div_ceil(stall.every) * stall.lasts;
        waits + 5 * self.trip() < span - self.session_timeout * 7 / 12 - self.session_timeout / 100
    }
}

/// How long after the last confirmation that counts the stop begins, with a `--kill-after` of at least T/12.
pub(crate) fn stops_after(timeout: u64) -> u64 {
    timeout - (timeout / 12).max(200 * MS) - timeout / 12
}

impl World {
    /// Checks that every zklock that could run its command does so in time.
    pub(crate) fn check_what_runs(&mut self) {
        self.after(LOOK_EVERY, Event::Look);
        if !self.ensemble.is_whole() || !self.is_aim_over() {
            self.calm_since = self.now;
        }
        for index in 0..self.zklocks.len() {
            if !self.may_run(index) {
                self.zklocks[index].entitled = None;
                continue;
            }
            let now = self.now;
            let told = self.is_told_within(index);
            let zklock = &mut self.zklocks[index];
            let (since, most) = zklock.entitled.unwrap_or((now, 0));
            // Predecessors may have left meanwhile, and the time that they took until then counts.
            let told = told.max(most);
            zklock.entitled = Some((since, told));
            let (contender, troubled) = (&zklock.contender, zklock.troubled.max(self.calm_since));
            // Trouble before the start doesn't count: the servers are still electing a leader.
            let is_untroubled = troubled < contender.starts;
            let by = told
                + if is_untroubled {
                    since + contender.hand_off()
                } else {
                    since.max(troubled) + contender.comes_back()
                };
            if now > by {
                let took = std::time::Duration::from_nanos(now - since);
                self.checks.violated(|| format!("zklock {index} could run for {took:?}, and doesn't"));
            }
        }
    }

    /// How long it may take until a contender for a slot is told that it is first in the queue. Its predecessor tells
    /// it, and was told by its own predecessor. A contender in trouble tells nothing and leaves the queue with its
    /// session.
    fn is_told_within(&self, index: usize) -> u64 {
        if !matches!(self.zklocks[index].contender.mode, Mode::Slots(2..)) {
            return 0;
        }
        let number = |index: usize| -> Option<i32> {
            let node = self.nodes_of(index).pop()?;
            Name::parse(node.rsplit('/').next()?).map(|name| name.sequence)
        };
        let own = number(index);
        // One in trouble may have given up its session, and the node is still there until the servers do, too.
        let is_ahead = |other: &usize| match number(*other) {
            Some(number) => Some(number) < own,
            None => self.zklocks[*other].troubled > 0,
        };
        let others = (0..self.zklocks.len()).filter(is_ahead).map(|other| &self.zklocks[other]);
        let tick = u64::try_from(self.scenario.tick.as_nanos()).unwrap();
        let each = |zklock: &Zklock| {
            let (contender, is_fine) = (&zklock.contender, zklock.troubled == 0 && zklock.signals.is_empty());
            let leaves = if is_fine { 0 } else { contender.session_timeout + tick + contender.comes_back() };
            leaves + contender.hand_off()
        };
        others.map(each).sum()
    }

    /// Whether it still waits although the servers show all its locks as its own.
    fn may_run(&mut self, index: usize) -> bool {
        let zklock = &self.zklocks[index];
        let waits =
            zklock.has_begun() && zklock.command.is_none() && zklock.works() && !zklock.was_starting();
        let is_left_alone = !zklock.is_stopped()
            && !self.is_frozen(SessionOwner::Worker(index))
            && zklock.signals.is_empty()
            && !zklock.was_hit
            && !zklock.node_deleted
            && zklock.contender.is_quick()
            && zklock.contender.stall.is_none();
        if !waits || !is_left_alone || self.zklocks[index].is_leaving() {
            return false;
        }
        self.is_first(index)
    }

    /// Whether the servers show every lock as its own. The result is computed again only when the children of a lock or
    /// the session have changed, because this is called much more often than that.
    fn is_first(&mut self, index: usize) -> bool {
        let locks = &self.zklocks[index].contender.locks;
        let session = self.session_of(index).unwrap_or_default();
        let seen: Vec<_> = locks.iter().map(|lock| self.ensemble.last_child_change(lock)).collect();
        if let Some((last_session, last_seen, is_first)) = &self.zklocks[index].last_look
            && (*last_session, last_seen) == (session, &seen)
        {
            return *is_first;
        }
        let nodes = self.nodes_of(index);
        let is_first = nodes.len() == self.zklocks[index].contender.locks.len()
            && nodes.iter().all(|node| {
                let (lock, name) = node.rsplit_once('/').unwrap();
                decide(&self.ensemble.children(lock), name) == Decision::Hold
            });
        self.zklocks[index].last_look = Some((session, seen, is_first));
        is_first
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

    /// Checks that a lease that ended while the command ran was lost because of a fault.
    pub(crate) fn check_loss(&mut self, index: usize) {
        let aimed_at = self.scenario.aim.as_ref().filter(|aim| aim.victim == index);
        let is_survived = match aimed_at.map(|aim| &aim.what) {
            Some(What::Blink) => true,
            _ => self.scenario.faults.is_empty() && self.scenario.aim.is_none(),
        };
        let Zklock { contender, command, .. } = &self.zklocks[index];
        // The first lease may be shorter than one in steady rhythm, which is what a busy host leaves.
        let is_steady =
            command.as_ref().is_some_and(|command| self.now > command.started + contender.session_timeout);
        let keeps_up = contender.stall.is_none() || is_steady && contender.keeps_up();
        if is_survived && contender.is_quick() && keeps_up {
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
        if !zklock.was_hit && zklock.signals.is_empty() && zklock.troubled == 0 && zklock.contender.keeps_up()
        {
            self.checks
                .violated(|| format!("the monitor of zklock {index} ends everybody, and had no reason to"));
        }
    }
}
