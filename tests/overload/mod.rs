//! Servers that have too much to do or to store, and lock paths with thousands of children.

mod connections;
pub(crate) mod crowd;
mod crowds;
mod disk;
pub(crate) mod memory;
mod throttled;
