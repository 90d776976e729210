//! zklock runs a command while it holds a lock in Apache ZooKeeper.
//!
//! [`cli`] and [`config`] make a [`plan`], [`core`] decides, [`runtime`] acts, and [`admin`] has the subcommands.
//! `docs/first-hour.md` has the types to know, the way of one lock through the files, and where a change goes.

pub mod admin;
pub mod cli;
pub mod config;
pub mod core;
mod files;
pub mod plan;
pub mod runtime;
