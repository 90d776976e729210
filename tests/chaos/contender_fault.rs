//! Faults of one contender: of its processes or its node.

/// A fault of one contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContenderFault {
    KilledMonitor,
    KilledWorker,
    KilledHost,
    KilledBoth,
    KilledFound,
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

    /// Whether it kills a process of zklock.
    pub(crate) fn kills(self) -> bool {
        self == Self::KilledWorker || self.kills_the_monitor()
    }

    /// Whether it kills the process that was started.
    pub(crate) fn kills_the_monitor(self) -> bool {
        matches!(self, Self::KilledMonitor | Self::KilledHost | Self::KilledBoth | Self::KilledFound)
    }

    /// Whether zklock's guarantees still hold when this fault follows the others. `stopped`: the last one is a stop
    /// that still lasts.
    ///
    /// Not covered: a worker that is killed or frozen while the monitor is
    /// stopped.
    pub(crate) fn may_follow(self, before: &[Self], stopped: bool) -> bool {
        if before.iter().any(|fault| fault.kills()) || before.contains(&self) {
            return false;
        }
        match before.last().filter(|_| stopped) {
            None => true,
            Some(Self::StoppedWorker) => {
                matches!(self, Self::KilledWorker | Self::KilledHost | Self::KilledBoth | Self::Terminated)
            }
            // The monitor is stopped.
            Some(_) => self.kills_the_monitor() || matches!(self, Self::Terminated | Self::Revoked),
        }
    }
}
