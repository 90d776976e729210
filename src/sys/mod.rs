//! The fence around `unsafe`: what the kernel offers and no safe interface does. Everywhere else it is denied.
#![allow(unsafe_code, reason = "this is the one module for it; each block says why it is sound")]

mod children;
mod image;
mod process;
mod signals;
mod spawn;

pub use self::children::{ChildState, any_dead_child, observe, reap};
pub use self::image::Image;
pub use self::process::{close_from, fail_on_abort, share_one_heap};
pub use self::signals::{
    bear_until_exec, die_of, drop_handlers, restore_ignored, sigpipe_was_ignored, stop_by,
};
pub use self::spawn::{Spawned, spawn};
