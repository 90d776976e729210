//! All of zklock's `unsafe` code: system calls without a safe interface. Everywhere else `unsafe` is denied.
#![allow(unsafe_code, reason = "this is the one module for it; each block says why it is sound")]

mod arguments;
mod children;
mod dead_mans_switch;
mod fork;
mod image;
mod page;
mod process;
mod signals;
mod spawn;
mod start;
mod unwinder;

pub use self::arguments::replace_arguments;
pub use self::children::{any_dead_child, is_dead, reap, reap_if_dead};
pub use self::dead_mans_switch::DeadMansSwitch;
pub use self::fork::{ForkSide, die_with, lock_memory, split, wake_on_death_of};
pub use self::image::Image;
pub use self::page::{SharedMoment, SharedPage};
pub use self::process::{detach_from_caller, exit_at_once};
pub use self::signals::{
    contains, die_of, drop_handlers, ignore_until_exec, restore_ignored, send, send_to_group, set_of,
    stop_by, stop_ignoring_children, was_ignored,
};
pub use self::spawn::{Spawned, spawn};
pub use self::start::ignore_signals_of_writes;
