//! Faults of servers and of the network between them and their clients: who may run then, until when, and
//! what is left behind. Nothing is, ever: [`Case`](crate::support::Case) looks at the end of each test.
//!
//! | module | what fails |
//! |---|---|
//! | [`lost_replies`] | one request, or the reply to it |
//! | [`waiting`] | a waiter's connection, for longer than is good |
//! | [`rhythm`] | nothing: how often a zklock confirms, whatever fails |
//! | [`leases`] | the only server, or the way to it, while the command runs |
//! | [`failover`] | one or two of three servers |
//! | [`partitions`] | the links between three servers |
//! | [`own_node`] | the node itself |
//! | [`negotiation`] | the session timeout that was asked for |
//! | [`release_last`] | a command that doesn't want to end |

mod failover;
mod holder;
mod leases;
mod loan;
mod lost_replies;
mod negotiation;
mod own_node;
mod partitions;
mod release_last;
mod rhythm;
mod waiting;
