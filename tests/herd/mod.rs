//! A release wakes those who can now run and nobody else, however many wait: counted by the server itself,
//! among 200 real zklocks of each kind, and compared with a dozen.

mod exclusive;
mod readers;
mod slots;

use crate::support::{Case, Proxy, Running, Server, end, op, wait_until};
use nix::sys::signal::Signal;
use std::time::Duration;

const FEW: usize = 12;
const MANY: usize = 200;

/// In seconds. A twelfth of it is longer than a test.
const SESSION_TIMEOUT: &str = "1200";

/// 200 processes are started and stopped on two cores.
const PATIENCE: Duration = Duration::from_mins(1);

/// A queue on a server of its own, behind a proxy that counts.
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

/// What happened meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    /// Watches that the deletion of a node fired. One of them is always its owner's own.
    deletions: usize,
    /// Watches that new data in a node fired.
    writes: usize,
    /// Requests of all zklocks together, but for pings and confirmations, which go by time.
    requests: usize,
}

impl Queue {
    fn new() -> Self {
        // Sessions so long that no holder confirms, and looks around for neighbours, while it is counted.
        let server = Server::builder().config("maxSessionTimeout=1200000").start();
        let proxy = Proxy::to(&server);
        Self { server, proxy }
    }

    fn crowd(&self) -> Crowd<'_> {
        let case = Case::on(&self.server, "herd").through(&self.proxy.connect_string());
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
    /// So many more with these options, in any order among themselves, behind all that are there.
    fn join(&mut self, count: usize, options: &[&str]) {
        let command = ["sh", "-c", "echo running; exec sleep 600"];
        let options = [&["--session-timeout", SESSION_TIMEOUT], options].concat();
        self.members.extend((0..count).map(|_| self.case.lock(&options, command).spawn()));
        self.case.observer().wait_for_contenders(self.case.path(), self.members.len(), PATIENCE);
    }

    /// Waits until so many watches are set in all: everybody stands and waits.
    #[track_caller]
    fn wait_for_watches(&self, count: usize) {
        let server = &self.queue.server;
        wait_until(&format!("{count} watches"), PATIENCE, || server.watches() == count);
    }

    /// Waits until the first so many say in their nodes since when they hold the lock, and nobody is woken by that any more:
    /// so many watches are set.
    #[track_caller]
    fn wait_until_told(&self, holders: usize, watches: usize) {
        (1..=holders).for_each(|place| drop(self.case.wait_until_it_tells_since_when(place)));
        self.wait_for_watches(watches);
    }

    fn running(&self) -> usize {
        self.members.iter().filter(|member| runs(member)).count()
    }

    #[track_caller]
    fn wait_for_running(&self, count: usize) {
        wait_until(&format!("{count} to run"), PATIENCE, || self.running() == count);
    }

    /// Ends the one whose command began to run first, or second, and so on.
    #[track_caller]
    fn end_holder(&mut self, which: usize) {
        let running = self.members.iter().enumerate().filter(|(_, member)| runs(member));
        let index = running.map(|(index, _)| index).nth(which).expect("one that runs");
        end(self.members.remove(index));
    }

    /// Ends everybody, the last first, so that nobody else gets to run.
    fn end(mut self) {
        self.members.iter().rev().for_each(|member| member.signal(Signal::SIGTERM));
        for member in self.members.drain(..) {
            member.wait(PATIENCE).assert_signal(Signal::SIGTERM);
        }
    }
}

fn runs(member: &Running) -> bool {
    member.stdout().count("running") > 0
}
