//! What a session takes and gives: the only place that knows where zklock keeps these.

pub(crate) use zklock::core::path::NodePath;
pub(crate) use zklock::core::planted::{Mistake, planted};
pub(crate) use zklock::core::protocol::{
    Away, Created, Failure, Node, Reply, Request, ServerTime, SessionChange,
};
pub(crate) use zklock::core::time::BootTime;
