//! Which faults of one contender may follow each other.

use crate::support::Fault;

impl Fault {
    /// Whether zklock's guarantees still hold when this fault follows the others. `stopped`: the last one is a stop
    /// that still lasts.
    ///
    /// Not covered: a worker that is killed or frozen while the monitor is stopped.
    pub(crate) fn may_follow(self, before: &[Self], stopped: bool) -> bool {
        if before.iter().any(|fault| fault.kills()) || before.contains(&self) {
            return false;
        }
        match before.last().filter(|_| stopped) {
            None => true,
            Some(Self::StopWorker) => {
                matches!(self, Self::KillWorker | Self::KillHost | Self::KillBoth | Self::Terminate)
            }
            // The monitor is stopped.
            Some(_) => self.kills_the_monitor() || matches!(self, Self::Terminate | Self::Revoke),
        }
    }
}
