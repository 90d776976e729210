//! What a session does for a request: which calls it makes on its connection, and what follows from each answer.
//!
//! A request is one call or several: a create is followed by a read if the ACL might hide the node, a list by a sync
//! before it, a denied read by a look from above. [`Step`] decides that, for the real session and for the simulated one.
//! The session sends the [call](Step::call) of a step, and passes the answer to [`Step::answered`].

mod call;
mod step;

pub use self::call::{Call, CallAnswer, CallError, NodeKind, Refusal};
pub use self::step::{FollowUp, Step};

#[cfg(test)]
mod tests;
