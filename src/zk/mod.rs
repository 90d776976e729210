//! ZooKeeper, and the only place that knows the client library or anything async.
//!
//! The rest of zklock sends a [`Request`] through a [`Session`] and finds the [`Reply`] among its events.

mod connect;
mod diagnose;
mod hosts;
mod perform;
mod session;

use std::time::Duration;

use thiserror::Error;

pub use self::diagnose::Diagnosis;
pub use self::hosts::{BadHosts, Hosts, Server};
pub use self::session::Session;
use crate::clock::BootTime;

/// Tells the events of one session from those of another that it replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionKey(pub u32);

/// What it takes to connect.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The ensemble.
    pub hosts: Hosts,
    /// The session timeout to ask for; the server's answer is what counts.
    pub session_timeout: Duration,
    /// When to give up connecting; `None` is never.
    pub deadline: Option<BootTime>,
}

/// What became of the session.
#[derive(Debug)]
pub enum SessionChange {
    /// It exists, for the first time.
    Connected {
        /// Its id: the `ephemeralOwner` of our nodes.
        id: i64,
        /// The timeout that the server granted.
        timeout: Duration,
        /// Just before the request for it was sent.
        began: BootTime,
    },
    /// It couldn't be had by the deadline; what each server said.
    Unreachable(Vec<Diagnosis>),
    /// The connection is lost. The session may live on.
    Disconnected,
    /// Connected again, the same session.
    Reconnected,
    /// The session is over: it expired, or the server refuses us.
    Lost(Failure),
    /// The server confirmed that the session is closed, and its nodes gone.
    Closed,
}

/// Something to ask of the ensemble. Requests on a session are carried out in the order they are made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Create an ephemeral sequential node `parent/prefix…`.
    Create {
        /// The lock path.
        parent: String,
        /// Everything of the name but the number.
        prefix: String,
        /// What the node says about its owner.
        data: Vec<u8>,
    },
    /// Create the lock path itself, and what is missing above it.
    MakeParents(String),
    /// List the children of a path.
    List(String),
    /// Let the server that we talk to catch up with the leader. Then list.
    CatchUpAndList(String),
    /// Read a node, and watch it for changes.
    Watch(String),
    /// Replace the data of a node that still has this version.
    Write(String, Vec<u8>, i32),
    /// Delete a node.
    Delete(String),
    /// A quorum write that checks that each of the nodes exists and changes nothing.
    Confirm(Vec<String>),
}

/// An answer, or a watch that fired.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reply {
    /// To [`Request::Create`].
    Created(Result<Created, Failure>),
    /// To [`Request::MakeParents`].
    ParentsMade(Result<(), Failure>),
    /// To [`Request::List`] and [`Request::CatchUpAndList`].
    Listed(Result<Vec<String>, Failure>),
    /// To [`Request::Watch`]: the node's path and what it says.
    Read(String, Result<Node, Failure>),
    /// A watched node was deleted (`true`) or changed otherwise.
    Changed(String, bool),
    /// To [`Request::Write`].
    Written(Result<(), Failure>),
    /// To [`Request::Delete`].
    Deleted(Result<(), Failure>),
    /// To [`Request::Confirm`], with the time just before it was sent.
    Confirmed(BootTime, Result<(), Failure>),
}

/// A node that was just created.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Created {
    /// Its name, the number included.
    pub name: String,
    /// The transaction that created it: the fencing token.
    pub czxid: i64,
}

/// A node that was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its data; empty if its ACL keeps it from us.
    pub data: Vec<u8>,
    /// The session that owns it, or zero.
    pub owner: i64,
    /// The transaction that created it.
    pub czxid: i64,
    /// How often its data was replaced.
    pub version: i32,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum Failure {
    /// The connection went before the answer came: it may have been carried out or not.
    #[error("the connection was lost before the answer came")]
    ConnectionLost,
    /// There is no such node, or no parent for it.
    #[error("there is no such node")]
    NoNode,
    /// The ACL doesn't allow it.
    #[error("permission denied")]
    NoAuth,
    /// The parent is ephemeral.
    #[error("an ephemeral node can't have children")]
    EphemeralParent,
    /// A quota of the server is used up.
    #[error("a quota set on the server is used up")]
    Quota,
    /// The server takes no writes.
    #[error("the server is read-only: it has lost its quorum")]
    ReadOnly,
    /// The session expired.
    #[error("the session expired")]
    Expired,
    /// The server refuses our credentials.
    #[error("the server refused the credentials")]
    AuthFailed,
    /// Anything else, in the client library's words.
    #[error("{0}")]
    Other(String),
}
