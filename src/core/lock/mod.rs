//! The lock. Everything here is pure: it decides, and the runtime carries the decisions out.

pub mod contender;
pub mod lease;
pub mod name;
pub mod neighbour;
pub mod once;
pub mod pace;
pub mod queue;
pub mod record;
mod refusal;
pub mod renewal;
pub mod set;
