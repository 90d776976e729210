//! One trial: a zklock whose command leaves it in every way there is, a fault at a random moment, and another zklock
//! that is next. Used by `scripts/escape` at length, and by the behaviour tests in short.
//!
//! | module | what it is about |
//! |---|---|
//! | [`run`] | the story of a trial; read it first |
//! | [`fault`] | what is done to whom, and when |
//! | [`history`] | the heartbeats: read, judged |
//! | [`verdict`] | all that must be true at the end |
//! | [`helper`] | `beat.c`: what runs under the lock |
#![allow(dead_code, reason = "two test binaries use it, and each a part")]

#[path = "../../chaos/clock.rs"]
mod clock;
mod fault;
mod helper;
mod history;
mod processes;
#[path = "../../chaos/rng.rs"]
mod rng;
mod run;
mod verdict;

#[allow(unused_imports, reason = "two test binaries use it, and each a part")]
pub(crate) use {
    fault::Fault,
    helper::{Beat, Crowd},
    history::Phase,
    rng::Rng,
    run::{Environment, trial},
    verdict::Report,
};
