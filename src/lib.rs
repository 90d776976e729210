//! zklock runs a command while it holds a lock in Apache ZooKeeper.
//!
//! [`cli`] and [`config`] make a [`plan`], [`core`] decides, and the other rooms act: [`run`] forks into the [`worker`],
//! which holds the session ([`ensemble`]) and the command ([`job`]), and the [`monitor`], which watches over it through a
//! [`link`]. [`process`] is the kernel, [`output`] what zklock prints, and [`subcommands`] all else that it can do.
//! `docs/first-hour.md` has the types to know, the way of one lock through the files, and where a change goes.

pub mod cli;
pub mod config;
pub mod ensemble;
mod files;
pub mod job;
pub mod link;
pub mod monitor;
pub mod output;
pub mod plan;
pub mod process;
pub mod run;
pub mod subcommands;
pub mod worker;
