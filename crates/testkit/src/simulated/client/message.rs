//! The types of a session's interface. Only this file knows where they are in zklock.

pub use zklock_core::connecting::{self, Course, longest_silence};
pub use zklock_core::path::NodePath;
pub use zklock_core::protocol::{LockNode, Node, Reply, Request, RequestError, ServerTime, SessionChange};
pub use zklock_core::request::{Call, CallAnswer, CallError, FollowUp, NodeKind, Refusal, Step};
pub use zklock_core::time::BootTime;
