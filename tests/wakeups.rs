//! A release wakes the contenders that can now run and no others, however many wait. The server itself counts that,
//! among a dozen real zklocks of each kind and among 200.

use crate::support::{Case, DEADLINE, Proxy, Running, Server, end, op, try_for, wait_until};
use nix::sys::signal::Signal;

/// How many contend. The costs are the same in any queue.
const FEW_AND_MANY: [usize; 2] = [12, 200];

/// Zklocks in one queue on a server of their own, behind a proxy that counts requests.
struct Crowd {
    members: Vec<Running>,
    case: Case,
    proxy: Proxy,
    server: Server,
    /// What was counted before the next release.
    before: Counted,
}

/// What a release leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    /// How many commands run then.
    running: usize,
    /// How many watches are set then.
    watches: usize,
    /// How many watches fired because a node was deleted. One of them is always the owner's own.
    deletions: usize,
    /// How many watches fired because the data of a node changed.
    writes: usize,
    /// The requests of all zklocks together, without pings and confirmations, whose number depends on time.
    requests: usize,
}

impl Crowd {
    /// Lets these come, so many with these options behind all before them, and returns when the first `holders` of them
    /// run and all others wait.
    #[track_caller]
    fn of(parts: &[(usize, &[&str])], holders: usize) -> Self {
        // The sessions are so long that no holder sends a confirmation while requests are counted.
        let server = Server::builder().config("maxSessionTimeout=1200000").start();
        let proxy = Proxy::to(&server);
        let case = Case::on(&server, "wakeups").through(&proxy.connect_string());
        let mut members = vec![];
        for (count, options) in parts {
            let options = [&["--session-timeout", "1200"], *options].concat();
            let zklock = || case.lock(&options, ["sh", "-c", "echo running; exec sleep 600"]).spawn();
            members.extend((0..*count).map(|_| zklock()));
            case.wait_for_contenders(members.len());
        }
        let before = Counted { running: 0, watches: 0, deletions: 0, writes: 0, requests: 0 };
        let mut crowd = Self { members, case, proxy, server, before };
        (1..=holders).for_each(|place| drop(crowd.case.wait_for_held_since(place)));
        // Each contender watches its own node. A waiter watches its predecessor too, or every holder of a slot.
        let watches = 2 * crowd.members.len() - 1;
        wait_until("the first to run, and all others to wait", DEADLINE, || {
            let now = crowd.counted();
            (now.running, now.watches) == (holders, watches)
        });
        // Each contender's last request sets a watch.
        crowd.before = crowd.counted();
        crowd
    }

    fn counted(&self) -> Counted {
        // The watches come last: when all else has happened, some of those that fired may not be set again yet.
        Counted {
            running: self.members.iter().filter(|member| member.stdout().count("running") > 0).count(),
            requests: self.proxy.count_all() - self.proxy.count(op::MULTI),
            deletions: self.server.watches_fired_by_deletions(),
            writes: self.server.watches_fired_by_writes(),
            watches: self.server.watches(),
        }
    }

    /// Ends the contender at this place of the queue, the first of which is 0, and expects that this happens and no more.
    #[track_caller]
    fn release(&mut self, place: usize, expected: Counted) {
        let node = format!("{}/{}", self.case.path(), self.case.contenders()[place]);
        let data = self.case.observer().data(&node).unwrap();
        let is_its = |member: &Running| data.contains(&format!("\"pid\":{},", member.pid()));
        let member = self.members.iter().position(is_its).unwrap();
        end(self.members.remove(member));
        let since = |before: Counted, now: Counted| Counted {
            deletions: now.deletions - before.deletions,
            writes: now.writes - before.writes,
            requests: now.requests - before.requests,
            ..now
        };
        try_for(DEADLINE, || (since(self.before, self.counted()) == expected).then_some(()));
        let now = self.counted();
        assert_eq!(since(self.before, now), expected, "place {place}, {} left", self.members.len());
        self.before = now;
    }

    /// Ends all contenders, the last first, so that no other command gets to run.
    fn end(mut self) {
        self.members.iter().rev().for_each(|member| member.signal(Signal::SIGTERM));
        for member in self.members.drain(..) {
            member.wait(DEADLINE).assert_signal(Signal::SIGTERM);
        }
    }
}

#[test]
fn a_release_wakes_the_next_alone() {
    for count in FEW_AND_MANY {
        let mut crowd = Crowd::of(&[(count, &[])], 1);
        for turn in 0..6 {
            let watches = 2 * (count - turn - 1) - 1;
            // The old holder sends a delete and a close. The new holder sends a list, unless it knows that it is the only
            // one left. Later the new holder shows since when it holds the lock: it writes to its node, and the contender
            // behind it reads the node and watches it again, as the new holder itself does. Nothing is listed for that.
            let requests = 2 + usize::from(turn > 0) + 3;
            // Of its own watch, and the next one's.
            crowd.release(0, Counted { running: 1, watches, deletions: 2, writes: 2, requests });
        }
        crowd.end();
    }
}

/// Each of these readers, when it ends, wakes at most the writer behind them.
#[test]
fn a_writer_that_ends_wakes_the_readers_up_to_the_next_writer() {
    const BEHIND: usize = 1 + 6;
    for count in FEW_AND_MANY {
        let mut crowd = Crowd::of(&[(1, &[]), (count, &["-s"]), (1, &[]), (BEHIND - 1, &["-s"])], 1);
        // Each reader that runs watches only its own node.
        let after = |running, woken, requests| Counted {
            running,
            watches: running + 2 * BEHIND,
            deletions: 1 + woken,
            writes: 0,
            requests,
        };
        // The old holder sends a delete and a close. No reader sends a request before it runs. Then each shows in its
        // node since when it holds the lock, with a write and a watch of its own node. The writer watches one of them.
        crowd.release(0, Counted { writes: count + 1, ..after(count, count, 2 + 2 * count + 1) });
        crowd.release(0, after(count - 1, 0, 2));
        // The writer watches the last of them. It looks, and watches another.
        crowd.release(count - 2, after(count - 2, 1, 4));
        crowd.end();
    }
}

#[test]
fn a_free_slot_wakes_the_first_waiter_and_the_next() {
    const SLOTS: usize = 3;
    // The old holder sends a delete and a close. The new holder sends a list, shows that it has the slot, and watches its
    // own node again, because it wrote to it. The waiter behind it sends a list and watches each holder. Later the new
    // holder shows since when it holds the slot, which it and the waiter behind it read once.
    const REQUESTS: usize = 2 + 3 + 1 + SLOTS + 3;
    for count in FEW_AND_MANY {
        let mut crowd = Crowd::of(&[(count, &["--slots", "3"])], SLOTS);
        // A holder that has waited still watches those that held a slot with it before: it gets the event, and sends no
        // request.
        for (turn, (place, events, old)) in
            [(0, 0, 2), (0, 1, 3), (0, 2, 3), (1, 1, 3), (2, 0, 3)].into_iter().enumerate()
        {
            let watches = 2 * (count - turn - 1) - 1 + old;
            let (running, deletions) = (SLOTS, 2 + events);
            // Each of the two writes fires the owner's own watch and that of the waiter behind it.
            crowd.release(place, Counted { running, watches, deletions, writes: 4, requests: REQUESTS });
        }
        crowd.end();
    }
}
