//! What the guard has to do, decided. Pure.

use crate::clock::BootTime;
use crate::guard::order::{GuardedNode, Order};

/// What the guard knows.
#[derive(Debug, Default)]
pub(super) struct Duty {
    nodes: Vec<GuardedNode>,
    hosts: String,
    session_timeout: u64,
    /// The job's process group, from before its exec until it is reaped.
    group: Option<i32>,
    kill_at: Option<BootTime>,
    abandoned: bool,
    dismissed: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Nothing, until there is news or this moment comes.
    Watch(Option<BootTime>),
    /// Kill this group and see it gone.
    Kill(i32),
    /// Delete the nodes, then end.
    Clean,
    /// End.
    End,
}

impl Duty {
    /// Takes in an order.
    pub(super) fn obey(&mut self, order: Order) {
        match order {
            Order::Nodes { hosts, session_timeout, nodes } => {
                (self.hosts, self.session_timeout, self.nodes) = (hosts, session_timeout, nodes);
            }
            Order::Lease(kill_at) => self.kill_at = kill_at.map(BootTime::from_nanos),
            Order::Running(group) => self.group = Some(group),
            // What remains is the release, and zklock sees to that as long as it lives.
            Order::JobOver => (self.group, self.kill_at) = (None, None),
            Order::Dismissed => self.dismissed = true,
        }
    }

    /// zklock is gone.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// A child reports itself as the leader of a group. Whether it may go on.
    pub(super) fn admit(&mut self, group: i32, now: BootTime) -> bool {
        let admitted = group > 1 && !self.is_alarmed(now) && !self.dismissed;
        if admitted {
            self.group = Some(group);
        }
        admitted
    }

    /// The group was killed and nobody is left.
    pub(super) fn group_is_gone(&mut self) {
        self.group = None;
    }

    /// What to do `now`.
    pub(super) fn task(&self, now: BootTime) -> Task {
        match (self.group, self.is_alarmed(now)) {
            _ if self.dismissed => Task::End,
            (Some(group), true) => Task::Kill(group),
            (None, true) if self.nodes.is_empty() => Task::End,
            (None, true) => Task::Clean,
            (_, false) => Task::Watch(self.kill_at),
        }
    }

    /// Where the nodes are: connect string, session timeout in milliseconds, nodes.
    pub(super) fn nodes(&self) -> (&str, u64, &[GuardedNode]) {
        (&self.hosts, self.session_timeout, &self.nodes)
    }

    /// Whether zklock can't be relied on any more.
    fn is_alarmed(&self, now: BootTime) -> bool {
        self.abandoned || self.kill_at.is_some_and(|kill_at| kill_at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: BootTime = BootTime::from_nanos(1_000);
    const LATER: BootTime = BootTime::from_nanos(2_000);

    fn on_duty() -> Duty {
        let mut duty = Duty::default();
        let nodes = vec![GuardedNode { path: "/a/b".to_owned(), czxid: 1 }];
        duty.obey(Order::Nodes { hosts: "zk".to_owned(), session_timeout: 1, nodes });
        duty.obey(Order::Lease(Some(1_500)));
        duty
    }

    #[test]
    fn an_ordinary_run_ends_without_a_deed() {
        let mut duty = on_duty();
        assert!(duty.admit(42, NOW));
        assert_eq!(duty.task(NOW), Task::Watch(Some(BootTime::from_nanos(1_500))));
        duty.obey(Order::Lease(Some(9_000)));
        assert_eq!(duty.task(LATER), Task::Watch(Some(BootTime::from_nanos(9_000))));
        duty.obey(Order::JobOver);
        assert_eq!(duty.task(NOW), Task::Watch(None));
        duty.obey(Order::Dismissed);
        duty.abandon();
        assert_eq!(duty.task(LATER), Task::End);
    }

    #[test]
    fn when_zklock_dies_the_group_is_killed_before_the_nodes_go() {
        let mut duty = on_duty();
        duty.admit(42, NOW);
        duty.abandon();
        assert_eq!(duty.task(NOW), Task::Kill(42));
        duty.group_is_gone();
        assert_eq!(duty.task(NOW), Task::Clean);
    }

    #[test]
    fn a_lease_that_runs_out_kills_too() {
        let mut duty = on_duty();
        duty.admit(42, NOW);
        assert_eq!(duty.task(LATER), Task::Kill(42));
    }

    #[test]
    fn a_job_that_is_over_is_never_signalled() {
        let mut duty = on_duty();
        duty.admit(42, NOW);
        duty.obey(Order::JobOver);
        duty.abandon();
        assert_eq!(duty.task(NOW), Task::Clean);
    }

    #[test]
    fn nobody_starts_without_a_living_zklock_and_a_lease() {
        let mut duty = on_duty();
        assert!(!duty.admit(42, LATER), "the lease is over");
        duty.obey(Order::Lease(None));
        assert!(duty.admit(42, LATER), "no lease to keep with --on-lost continue");
        let mut duty = on_duty();
        duty.abandon();
        assert!(!duty.admit(42, NOW), "zklock is dead");
        assert_eq!(duty.task(NOW), Task::Clean);
        assert!(!on_duty().admit(0, NOW), "that would be the guard's own group");
    }

    #[test]
    fn a_waiter_that_dies_leaves_no_node_and_one_without_nodes_nothing() {
        let mut duty = on_duty();
        duty.obey(Order::Lease(None));
        assert_eq!(duty.task(LATER), Task::Watch(None));
        duty.abandon();
        assert_eq!(duty.task(NOW), Task::Clean);
        let mut idle = Duty::default();
        idle.abandon();
        assert_eq!(idle.task(NOW), Task::End);
    }
}
