//! zklock runs a command while it holds a lock in Apache ZooKeeper.
//!
//! The decisions are in the crate [`zklock_core`]; what is here acts. `docs/first-hour.md` has the map.

pub mod cli;
pub mod config;
pub mod ensemble;
mod files;
pub mod job;
pub mod link;
pub mod monitor;
pub mod nested;
pub mod output;
pub mod plan;
pub mod process;
pub mod run;
pub mod subcommands;
mod values;
pub mod worker;
