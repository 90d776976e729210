//! zklock runs a command while it holds a lock in Apache ZooKeeper.
//!
//! [`run`] tells the story; read it first. What decides is pure and stands in [`lock`] and
//! [`job::supervisor`]; what acts stands around it:
//!
//! | module | what it is about |
//! |---|---|
//! | [`cli`], [`config`], [`exit`], [`ui`] | what the user says, hears, and is left with |
//! | [`admin`] | the verbs: status, revoke, completions, man |
//! | [`run`], [`pair`] | two processes with one fate |
//! | [`monitor`] | the one that the user started: it watches over the other |
//! | [`worker`], [`work`] | the other: connect, acquire, hold, release |
//! | [`acquire`], [`supervise`], [`conclude`], [`release`] | the loops of that story |
//! | [`claim`] | a session, its contenders and the lease, moved along by events |
//! | [`lock`] | names, the queue, a contender's next step, the lease: pure |
//! | [`environment`], [`nest`] | what the command is told, and a zklock inside the command |
//! | [`job`] | the command: started, signalled, stopped, reaped |
//! | [`descendants`] | every process below this one, and the end of all |
//! | [`zk`] | the ensemble; the only place that is async |
//! | [`event`], [`clock`], [`alarm`], [`sys`] | one channel, one clock with its alarm, one fence around `unsafe` |
//! | `files`, [`memory`] | files that may hold secrets; what others can see of this process once it has them |
//! | [`planted`] | mistakes that only a build for tests can be told to make |

pub mod acquire;
pub mod admin;
pub mod alarm;
pub mod claim;
pub mod cli;
pub mod clock;
pub mod conclude;
pub mod config;
pub mod descendants;
pub mod environment;
pub mod event;
pub mod exit;
mod files;
pub mod job;
pub mod lock;
pub mod loss;
pub mod memory;
pub mod monitor;
pub mod nest;
pub mod pair;
pub mod planted;
pub mod release;
pub mod run;
pub mod supervise;
pub mod sys;
pub mod ui;
pub mod work;
pub mod worker;
pub mod zk;
