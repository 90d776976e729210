//! One trial: the processes of a command leave their zklock in every possible way, a fault comes at a random moment,
//! and another zklock is next in the queue. `scripts/chaos --escape` makes many trials, the behaviour tests a few.
//!
//! | module | topic |
//! |---|---|
//! | [`run`] | the course of a trial; read it first |
//! | [`fault`] | the fault: its injection and its time |
//! | [`history`] | the heartbeats, and what they show |
//! | [`verdict`] | everything that must be true at the end |
//! | [`helper`] | `beat.c`, the program that runs under the lock |

mod fault;
mod helper;
mod history;
mod processes;
mod run;
mod verdict;

pub(crate) use {
    helper::{Beat, Crowd},
    history::Phase,
    run::{Environment, trial},
    verdict::Report,
};
