//! What the monitor reports after it has acted.

use std::fmt;

use super::{Death, WorkerFailure};
use crate::message::Level;
use crate::pair::Stage;
use crate::signal;

/// A message of the monitor after it has acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MonitorMessage {
    /// What happened to the worker and to the command.
    Worker {
        /// Why the worker couldn't do its work.
        failure: WorkerFailure,
        /// The worker's stage.
        stage: Stage,
    },
    /// What happened to the lock node.
    Node {
        /// Whether it is certainly gone.
        gone: bool,
    },
    /// The worker was to record a success.
    RecordUncertain,
}

impl MonitorMessage {
    /// How important the message is.
    pub fn level(&self) -> Level {
        match self {
            // Without a record, `-q` would hide that the command runs every time.
            Self::Worker { .. } | Self::RecordUncertain => Level::Error,
            Self::Node { .. } => Level::Warning,
        }
    }
}

impl fmt::Display for MonitorMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failure, stage) = match self {
            Self::Node { gone: true } => return f.write_str("the lock node is gone"),
            Self::Node { gone: false } => {
                return f.write_str("the lock node is deleted when its session times out");
            }
            Self::RecordUncertain => {
                return f.write_str("the success may not be recorded, so the next run may not be skipped");
            }
            Self::Worker { failure, stage } => (failure, *stage),
        };
        match failure {
            WorkerFailure::Frozen if stage == Stage::Over => {
                write!(f, "the worker process hung during the release")
            }
            WorkerFailure::Frozen => {
                write!(f, "the worker process hung until the lease was nearly over")
            }
            &WorkerFailure::IgnoresSignal(number) => {
                write!(f, "the worker process hung and didn't react to {}", signal::name(number))
            }
            WorkerFailure::Dead(Death::Killed(signal)) => {
                write!(f, "the worker process was killed by signal {signal}")
            }
            WorkerFailure::Dead(Death::Success | Death::Failure) => f.write_str("the worker process failed"),
            WorkerFailure::Dead(Death::Unknown) => f.write_str("the worker process is gone"),
            WorkerFailure::Unwatched(why) => write!(f, "zklock can't watch over the command any more: {why}"),
        }?;
        f.write_str(match stage {
            Stage::Waiting => "; the command was not started",
            Stage::Running => "; the command was stopped with all its processes",
            Stage::Over => "; the command had ended before",
        })
    }
}
