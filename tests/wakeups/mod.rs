//! A release wakes the contenders that can now run and no others, however many wait. The server itself counts that,
//! among 200 real zklocks of each kind, and the result is compared with a dozen.

mod exclusive;
mod readers;
mod slots;

use crate::support::{Case, DEADLINE, Proxy, Running, Server, end, op, wait_until};
use nix::sys::signal::Signal;

const FEW: usize = 12;
const MANY: usize = 200;

/// The session timeout in seconds. A twelfth of it is longer than a test.
const SESSION_TIMEOUT: &str = "1200";

/// A queue on a server of its own, behind a proxy that counts requests.
struct Queue {
    server: Server,
    proxy: Proxy,
}

/// The zklocks of a queue.
struct Crowd<'a> {
    queue: &'a Queue,
    case: Case,
    members: Vec<Running>,
}

/// The events and requests of a period.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    /// How many watches fired because a node was deleted. One of them is always the owner's own.
    deletions: usize,
    /// How many watches fired because the data of a node changed.
    writes: usize,
    /// The requests of all zklocks together, without pings and confirmations, whose number depends on time.
    requests: usize,
}

impl Queue {
    fn new() -> Self {
        // The sessions are so long that no holder sends a confirmation while requests are counted.
        let server = Server::builder().config("maxSessionTimeout=1200000").start();
        let proxy = Proxy::to(&server);
        Self { server, proxy }
    }

    fn crowd(&self) -> Crowd<'_> {
        let case = Case::on(&self.server, "wakeups").through(&self.proxy.connect_string());
        Crowd { queue: self, case, members: vec![] }
    }

    fn counted(&self) -> Counted {
        Counted {
            deletions: self.server.watches_fired_by_deletions(),
            writes: self.server.watches_fired_by_writes(),
            requests: self.proxy.count_all() - self.proxy.count(op::MULTI),
        }
    }
}

impl Counted {
    fn since(self, before: Self) -> Self {
        Self {
            deletions: self.deletions - before.deletions,
            writes: self.writes - before.writes,
            requests: self.requests - before.requests,
        }
    }
}

impl Crowd<'_> {
    /// Adds this many contenders with these options behind all others. Their order among themselves is arbitrary.
    fn join(&mut self, count: usize, options: &[&str]) {
        let command = ["sh", "-c", "echo running; exec sleep 600"];
        let options = [&["--session-timeout", SESSION_TIMEOUT], options].concat();
        self.members.extend((0..count).map(|_| self.case.lock(&options, command).spawn()));
        self.case.observer().wait_for_contenders(self.case.path(), self.members.len(), DEADLINE);
    }

    /// Waits until this many watches are set in total, so that every contender waits.
    #[track_caller]
    fn wait_for_watches(&self, count: usize) {
        let server = &self.queue.server;
        wait_until(&format!("{count} watches"), DEADLINE, || server.watches() == count);
    }

    /// Waits until the first `holders` contenders show in their nodes since when they hold the lock, and no contender
    /// is woken by that any more: this many watches are set.
    #[track_caller]
    fn wait_until_told(&self, holders: usize, watches: usize) {
        (1..=holders).for_each(|place| drop(self.case.wait_for_held_since(place)));
        self.wait_for_watches(watches);
    }

    fn running(&self) -> usize {
        self.members.iter().filter(|member| runs(member)).count()
    }

    #[track_caller]
    fn wait_for_running(&self, count: usize) {
        wait_until(&format!("{count} to run"), DEADLINE, || self.running() == count);
    }

    /// Ends the contender whose command began to run first, or second, and so on.
    #[track_caller]
    fn end_holder(&mut self, which: usize) {
        let running = self.members.iter().enumerate().filter(|(_, member)| runs(member));
        let index = running.map(|(index, _)| index).nth(which).expect("one that runs");
        end(self.members.remove(index));
    }

    /// Ends all contenders, the last first, so that no other command gets to run.
    fn end(mut self) {
        self.members.iter().rev().for_each(|member| member.signal(Signal::SIGTERM));
        for member in self.members.drain(..) {
            member.wait(DEADLINE).assert_signal(Signal::SIGTERM);
        }
    }
}

fn runs(member: &Running) -> bool {
    member.stdout().count("running") > 0
}
