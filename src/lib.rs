//! zklock runs a command while it holds a lock in Apache ZooKeeper.
//!
//! | module | what it is about |
//! |---|---|
//! | [`core`] | decides, and does nothing: pure |
//! | [`core::run`] | one machine for a run, from the look at the locks around it to the release; a file for each phase |
//! | [`core::claim`] | a session, a contender for each lock, and the lease |
//! | [`core::lock`] | names, the queue, a contender's next step, the lease and the line |
//! | [`core::supervisor`] | signals to the command, its stop and its end |
//! | [`core::monitor`] | what the second process has to do |
//! | [`core::message`], [`core::event`] | everything that a run says to people, and to programs |
//! | [`core::protocol`], [`core::pair`] | what is said to the ensemble, and between the two processes |
//! | [`runtime`] | carries out what the core wants done |
//! | [`runtime::run`], [`runtime::pair`] | two processes with one fate |
//! | [`runtime::worker`], [`runtime::executor`] | the process that works: its loop, and what it does |
//! | [`runtime::monitor`], [`runtime::descendants`] | the process that watches over it, and the end of every process below |
//! | [`runtime::job`] | the command: started, signalled, stopped, reaped |
//! | [`runtime::zk`], [`runtime::side_sessions`] | the ensemble: the only place that is async; sessions for questions and for what is left |
//! | [`runtime::event`], [`runtime::clock`], [`runtime::alarm`] | one channel, one clock and its alarm |
//! | [`runtime::ui`] | what people read |
//! | [`runtime::sys`] | the fence around `unsafe` |
//! | [`admin`] | the verbs: status, revoke, check, forget, completions, man; and what the shells complete |
//! | [`cli`], [`config`] | the command line and the configuration files |

pub mod admin;
pub mod cli;
pub mod config;
pub mod core;
pub mod runtime;
