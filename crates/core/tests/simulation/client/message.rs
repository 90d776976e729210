//! The types of a session's interface. Only this file knows where they are in zklock.

pub(crate) use zklock_core::connecting::retry::{AttemptLimit, RetryPlan};
pub(crate) use zklock_core::connecting::{ConnectSpeed, ReconnectPause, longest_reconnection};
pub(crate) use zklock_core::path::NodePath;
pub(crate) use zklock_core::protocol::{Node, Reply, Request, RequestError, ServerTime, SessionChange};
pub(crate) use zklock_core::session::{Answer, Call, CallError, Next, NodeKind, Refusal, Step};
pub(crate) use zklock_core::time::BootTime;
