//! What the guard has to do, decided. Pure.

use crate::clock::BootTime;
use crate::guard::order::{GuardedLease, GuardedNode, Order};
use crate::zk::Security;

/// What the guard knows.
#[derive(Debug, Default)]
pub(super) struct Duty {
    nodes: Vec<GuardedNode>,
    security: Security,
    hosts: String,
    session_timeout: u64,
    /// The job's process group, from before its exec until it is reaped.
    group: Option<i32>,
    lease: Option<GuardedLease>,
    job_over: bool,
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
            Order::Security(security) => self.security = security,
            Order::Nodes { hosts, session_timeout, nodes } => {
                (self.hosts, self.session_timeout, self.nodes) = (hosts, session_timeout, nodes);
            }
            Order::Lease(lease) if !self.job_over => self.lease = lease,
            Order::Lease(_) => {}
            Order::Running(group) => self.group = Some(group),
            // What remains is the release, and zklock sees to that as long as it lives.
            Order::JobOver => (self.group, self.lease, self.job_over) = (None, None, true),
            Order::Dismissed => self.dismissed = true,
        }
    }

    /// zklock is gone.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// A child reports itself as the leader of a group. Whether it may go on.
    pub(super) fn admit(&mut self, group: i32, now: BootTime) -> bool {
        let in_time = self.lease.is_none_or(|lease| now < BootTime::from_nanos(lease.start_before));
        let admitted = group > 1 && in_time && !self.job_over && !self.abandoned && !self.dismissed;
        if admitted {
            self.group = Some(group);
        }
        admitted
    }

    /// How to connect.
    pub(super) fn security(&self) -> &Security {
        &self.security
    }

    /// The group was killed and nobody is left.
    pub(super) fn group_is_gone(&mut self) {
        self.group = None;
    }

    /// The group can't be killed: it has become somebody else's. Then the nodes stay as long as the session.
    pub(super) fn give_up(&mut self) {
        self.dismissed = true;
    }

    /// What to do `now`.
    pub(super) fn task(&self, now: BootTime) -> Task {
        let kill_at = self.lease.map(|lease| BootTime::from_nanos(lease.kill_at));
        let end = self.lease.map(|lease| BootTime::from_nanos(lease.end));
        let passed = |moment: Option<BootTime>| moment.is_some_and(|moment| moment <= now);
        match self.group {
            _ if self.dismissed => Task::End,
            Some(group) if self.abandoned || passed(kill_at) => Task::Kill(group),
            Some(_) => Task::Watch(kill_at),
            None if self.abandoned && self.nodes.is_empty() => Task::End,
            // A zklock that lives may still be killing what left the group; up to the end nobody else can hold.
            None if self.abandoned || passed(end) => Task::Clean,
            None => Task::Watch(end),
        }
    }

    /// Where the nodes are: connect string, session timeout in milliseconds, nodes.
    pub(super) fn nodes(&self) -> (&str, u64, &[GuardedNode]) {
        (&self.hosts, self.session_timeout, &self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: BootTime = at(1_000);

    const fn at(nanos: u64) -> BootTime {
        BootTime::from_nanos(nanos)
    }

    fn until(end: u64) -> Order {
        Order::Lease(Some(GuardedLease { start_before: end - 400, kill_at: end - 200, end }))
    }

    fn on_duty() -> Duty {
        let mut duty = Duty::default();
        let nodes = vec![GuardedNode { path: "/a/b".to_owned(), czxid: 1 }];
        duty.obey(Order::Nodes { hosts: "zk".to_owned(), session_timeout: 1, nodes });
        duty.obey(until(2_000));
        duty
    }

    #[test]
    fn an_ordinary_run_ends_without_a_deed() {
        let mut duty = on_duty();
        assert!(duty.admit(42, NOW));
        assert_eq!(duty.task(NOW), Task::Watch(Some(at(1_800))));
        duty.obey(until(9_000));
        assert_eq!(duty.task(at(2_000)), Task::Watch(Some(at(8_800))));
        duty.obey(Order::JobOver);
        duty.obey(until(9_000));
        assert_eq!(duty.task(at(9_999)), Task::Watch(None), "the release is zklock's");
        duty.obey(Order::Dismissed);
        duty.abandon();
        assert_eq!(duty.task(NOW), Task::End);
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
    fn a_lease_that_runs_out_kills_in_time_and_frees_the_lock_only_at_its_end() {
        let mut duty = on_duty();
        duty.admit(42, NOW);
        assert_eq!(duty.task(at(1_799)), Task::Watch(Some(at(1_800))));
        assert_eq!(duty.task(at(1_800)), Task::Kill(42));
        duty.group_is_gone();
        assert_eq!(duty.task(at(1_801)), Task::Watch(Some(at(2_000))));
        assert_eq!(duty.task(at(2_000)), Task::Clean);
    }

    #[test]
    fn a_group_that_can_t_be_killed_keeps_its_node() {
        let mut duty = on_duty();
        duty.admit(42, NOW);
        duty.abandon();
        duty.give_up();
        assert_eq!(duty.task(NOW), Task::End);
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
    fn a_child_that_knocked_before_its_end_and_is_heard_after_it_isn_t_let_through() {
        let mut duty = on_duty();
        duty.obey(Order::JobOver);
        assert!(!duty.admit(42, NOW), "zklock has given it up, and its number may be somebody else's");
        duty.abandon();
        assert_eq!(duty.task(NOW), Task::Clean);
    }

    #[test]
    fn nobody_starts_without_a_living_zklock_and_a_lease() {
        let mut duty = on_duty();
        assert!(!duty.admit(42, at(1_600)), "it would be stopped at once");
        duty.obey(Order::Lease(None));
        assert!(duty.admit(42, at(9_999)), "no lease to keep with --on-lost continue");
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
        assert_eq!(duty.task(at(9_999)), Task::Watch(None));
        duty.abandon();
        assert_eq!(duty.task(NOW), Task::Clean);
        let mut idle = Duty::default();
        idle.abandon();
        assert_eq!(idle.task(NOW), Task::End);
    }
}
