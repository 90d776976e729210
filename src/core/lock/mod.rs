//! The lock. Everything here is pure: it decides, and the runtime carries the decisions out.

pub mod contender;
pub mod latency;
pub mod lease;
pub mod lock_set;
pub mod name;
pub mod once;
pub mod other_recipes;
pub mod queue;
mod queue_error;
pub mod record;
pub mod renewal;
