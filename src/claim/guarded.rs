//! What the guard has to know of the claim: nodes when they are there, the lease while there is a job.

use std::io;
use std::time::Duration;

use nix::unistd::Pid;

use super::Claim;
use crate::clock::BootTime;
use crate::guard::{Gate, GuardedLease, GuardedNode, Order};
use crate::lock::contender::OwnNode;

/// What the guard is told of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarding {
    /// Nothing: there is no job.
    Nothing,
    /// Each renewal: the job must not outlive the lease, and its stop may take that long.
    TheLease(Duration),
    /// That there is none to keep: the job goes on whatever becomes of the lock.
    NoLease,
}

impl Claim {
    /// The job is about to be started: the guard has to know until when it may exist. Without `kill_after`, the
    /// time that a stop may take, it may go on without the lock.
    pub fn guard_the_lease(&mut self, kill_after: Option<Duration>) {
        self.guarding = kill_after.map_or(Guarding::NoLease, Guarding::TheLease);
        self.tell_lease();
    }

    /// The job is over and about to be reaped: the guard must not signal its group any more.
    pub fn job_is_over(&mut self) {
        self.guarding = Guarding::Nothing;
        self.guard.tell(&Order::JobOver);
    }

    /// The gate that the job's leader has to pass before its exec.
    pub fn gate(&self) -> io::Result<Gate<'_>> {
        self.guard.gate()
    }

    /// The guard's process.
    pub fn guard_pid(&self) -> Pid {
        self.guard.pid()
    }

    /// Replaces a guard that died, or one that doesn't answer, and tells the new one all that it has to know:
    /// with `job` also the group that runs already.
    pub fn renew_guard(&mut self, job: Option<Pid>) -> io::Result<()> {
        self.guard.replace(&self.settings.security)?;
        self.tell_nodes();
        if let Some(group) = job {
            self.guard.tell(&Order::Running(group.as_raw()));
        }
        self.tell_lease();
        Ok(())
    }

    /// Whether the guard has died.
    pub fn guard_is_dead(&mut self) -> bool {
        self.guard.is_dead()
    }

    /// All is released: sends the guard away.
    pub fn end(self) {
        self.guard.dismiss();
    }

    pub(super) fn tell_nodes(&mut self) {
        let Some(contending) = &self.contending else {
            return;
        };
        let hosts = self.settings.hosts.to_string();
        let session_timeout =
            u64::try_from(contending.renewal.lease.timeout().as_millis()).unwrap_or(u64::MAX);
        let guarded = |node: &OwnNode| GuardedNode { path: node.path.clone(), czxid: node.fencing_token };
        let nodes = contending.set.nodes().map(|(_, node)| guarded(node)).collect();
        self.guard.tell(&Order::Nodes { hosts, session_timeout, nodes });
    }

    pub(super) fn tell_lease(&mut self) {
        let told = match (&self.contending, self.guarding) {
            (Some(contending), Guarding::TheLease(kill_after)) => {
                let lease = &contending.renewal.lease;
                let moments = [lease.stop_at(kill_after), lease.kill_at(), lease.end()];
                let [start_before, kill_at, end] = moments.map(BootTime::as_nanos);
                Some(GuardedLease { start_before, kill_at, end })
            }
            (_, Guarding::NoLease) => None,
            _ => return,
        };
        self.guard.tell(&Order::Lease(told));
    }
}
