//! Everything that acts: processes, signals, the terminal, sessions, the clock and output.
//!
//! [`run`] forks into two processes. [`worker`] is the loop of the one that holds the session and runs the command, and
//! [`executor`] carries out the core's effects for it. [`monitor`] is the loop of the other. Both use the remaining
//! modules.

pub mod alarm;
pub mod clock;
pub mod descendants;
pub mod end;
pub mod event;
pub mod executor;
pub mod identity;
pub mod job;
pub mod lineage;
pub mod memory;
pub mod monitor;
pub mod open_files;
pub mod pair;
#[cfg(planted)]
pub mod planted;
mod proc_file;
mod proc_stat;
pub mod run;
pub mod side_sessions;
pub mod stdout;
pub mod sys;
pub mod ui;
pub mod worker;
pub mod zk;
