//! What carries out: processes, terminal, signals, the client library, the clock and what is written.
//!
//! [`run`] becomes two processes; [`worker`] is the loop of the one that works, and [`executor`] does what the core wants done.
//! [`monitor`] is the other. The rest is what these two need.

pub mod alarm;
pub mod clock;
pub mod descendants;
pub mod end;
pub mod event;
pub mod executor;
pub(crate) mod files;
pub mod identity;
pub mod job;
pub mod lineage;
pub mod memory;
pub mod monitor;
pub mod pair;
#[cfg(planted)]
pub mod planted;
mod proc_stat;
pub mod run;
pub mod side_sessions;
pub mod sys;
pub mod ui;
pub mod worker;
pub mod zk;
