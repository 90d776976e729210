//! Faults of one contender: of its processes or its node.

/// A fault of one contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContenderFault {
    KilledMonitor,
    KilledWorker,
    KilledHost,
    StoppedMonitor,
    StoppedWorker,
    /// As by Ctrl-Z.
    Suspended,
    Terminated,
    Revoked,
    NodeDeleted,
}

impl ContenderFault {
    /// Whether a process is stopped until [`Contender::resume`](crate::contender::Contender::resume).
    pub(crate) fn stops_a_process(self) -> bool {
        matches!(self, Self::StoppedMonitor | Self::StoppedWorker | Self::Suspended)
    }

    /// Whether zklock's guarantees still hold when this fault follows the others. `stopped`: the last one is a stop
    /// that still lasts.
    ///
    /// Not covered: the death of both processes at once, and a worker that is killed or frozen while the monitor is
    /// stopped.
    pub(crate) fn may_follow(self, before: &[Self], stopped: bool) -> bool {
        let is_final =
            |fault: &Self| matches!(fault, Self::KilledMonitor | Self::KilledWorker | Self::KilledHost);
        if before.iter().any(is_final) || before.contains(&self) {
            return false;
        }
        match before.last().filter(|_| stopped) {
            None => true,
            Some(Self::StoppedWorker) => {
                matches!(self, Self::KilledWorker | Self::KilledHost | Self::Terminated)
            }
            // The monitor is stopped.
            Some(_) => {
                matches!(self, Self::KilledMonitor | Self::KilledHost | Self::Terminated | Self::Revoked)
            }
        }
    }
}
