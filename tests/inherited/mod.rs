//! What the command has from zklock's caller: the same as without zklock.

mod descriptors;
mod environment;
mod priority;
mod same;
