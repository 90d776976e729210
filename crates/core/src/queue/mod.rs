//! The queue of one lock: names, order, contenders, other recipes. Everything here is pure.

pub mod contender;
pub mod event;
pub mod name;
pub mod once;
pub mod order;
pub mod other_recipes;
mod queue_error;
pub mod record;
