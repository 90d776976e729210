//! What the kernel tells and does: processes, signals, clocks, memory. All `unsafe` code is in [`sys`].

pub mod alarm;
pub mod bell;
pub mod clock;
pub mod end;
pub mod identity;
pub mod memory;
pub mod persist;
pub mod priority;
pub mod proc_file;
pub mod proc_stat;
pub mod service_manager;
pub mod sys;
pub mod system_error;
pub mod thread;
