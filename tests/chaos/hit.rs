//! What is done to one contender, other than by servers and network.

/// One such thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
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

impl Hit {
    /// Whether it stands still until somebody has it go on.
    pub(crate) fn stands_still(self) -> bool {
        matches!(self, Self::StoppedMonitor | Self::StoppedWorker | Self::Suspended)
    }

    /// Whether zklock keeps its promises also when this comes after the others. `stands_still`: the last one lasts.
    ///
    /// What it doesn't promise: to survive the death of both processes at once, and a worker that is killed or frozen
    /// while the monitor stands still.
    pub(crate) fn may_follow(self, before: &[Self], stands_still: bool) -> bool {
        let is_last = |hit: &Self| matches!(hit, Self::KilledMonitor | Self::KilledWorker | Self::KilledHost);
        if before.iter().any(is_last) || before.contains(&self) {
            return false;
        }
        match before.last().filter(|_| stands_still) {
            None => true,
            Some(Self::StoppedWorker) => {
                matches!(self, Self::KilledWorker | Self::KilledHost | Self::Terminated)
            }
            // The monitor stands still.
            Some(_) => {
                matches!(self, Self::KilledMonitor | Self::KilledHost | Self::Terminated | Self::Revoked)
            }
        }
    }
}
