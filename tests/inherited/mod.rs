//! What the command has from zklock's caller: the same as without zklock.

mod descriptors;
mod environment;
mod limits;
mod priority;
