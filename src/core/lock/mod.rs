//! The lock. Everything here is pure: it decides, and the runtime carries the decisions out.

pub mod contender;
pub mod lease;
pub mod name;
pub mod neighbour;
pub mod once;
pub mod pace;
pub mod queue;
mod queue_error;
pub mod record;
pub mod renewal;
pub mod set;
