//! zklock runs a command while it holds a lock in Apache ZooKeeper.
//!
//! | module | content |
//! |---|---|
//! | [`core`] | decisions: pure state machines and data |
//! | [`core::run`] | the state machine of a whole run; a file for each phase, and the supervisor of the command |
//! | [`core::run::claim`] | a session with a contender for each lock, and the lease |
//! | [`core::lock`] | node names, the queue, a contender's next step, the lease |
//! | [`core::monitor`] | the state machine of the monitor process |
//! | [`core::message`], [`core::loss`] | the messages of a run: level, text, and fields for JSON |
//! | [`core::protocol`], [`core::pair`] | requests to the ensemble, and messages between the two processes |
//! | [`runtime`] | actions: carries out the core's effects |
//! | [`runtime::run`], [`runtime::pair`] | the fork into two processes, and how they communicate |
//! | [`runtime::worker`], [`runtime::executor`] | the worker process: its loop, and how it carries out effects |
//! | [`runtime::monitor`], [`runtime::descendants`] | the monitor process, and how all descendants are ended |
//! | [`runtime::job`] | the command: started, signalled, stopped, reaped |
//! | [`runtime::zk`], [`runtime::side_sessions`] | sessions with ZooKeeper, the only async code; separate sessions for lookups and cleanup |
//! | [`runtime::event`], [`runtime::clock`], [`runtime::alarm`] | the worker's channel of events, the clock for leases, and its timer |
//! | [`runtime::ui`] | output to stderr |
//! | [`runtime::sys`] | system calls: the only `unsafe` code |
//! | [`admin`] | the verbs, and completions for shells |
//! | [`cli`], [`config`], `files` | the command line, the configuration files, and how the files named by the user are read |

pub mod admin;
pub mod cli;
pub mod config;
pub mod core;
mod files;
pub mod runtime;
