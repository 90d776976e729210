//! Faults of servers and of the network between them and their clients. The tests check which commands may run, and
//! until when. Nothing is ever left behind: [`Case`](crate::support::Case) checks that at the end of each test.
//!
//! | module | what fails |
//! |---|---|
//! | [`lost_replies`] | one request, or the reply to it |
//! | [`waiting`] | a waiter's connection, for too long |
//! | [`leases`] | the only server, or the connection to it, while the command runs |
//! | [`failover`] | one or two of three servers |
//! | [`partitions`] | the links between three servers |
//! | [`own_node`] | zklock's own node |
//! | [`negotiation`] | the negotiation of the session timeout |
//! | [`release_last`] | a command that ignores TERM or ends slowly |

mod failover;
pub(crate) mod holder;
mod leases;
mod loan;
mod lost_replies;
mod negotiation;
mod own_node;
mod partitions;
mod release_last;
mod waiting;
