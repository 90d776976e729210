//! ZooKeeper, and the only place that knows the client library or anything async.
//!
//! The rest of zklock sends a [`Request`] through a [`Session`] and finds the [`Reply`] among its events, or asks through an
//! [`Inquiry`] and waits.

mod addresses;
mod connect;
mod diagnose;
mod failure;
mod finding;
mod handshake;
mod hosts;
mod inquiry;
mod message;
mod perform;
mod read;
mod security;
mod session;
mod task;
mod tour;
mod watches;
mod write;

use std::time::Duration;

pub use self::failure::Failure;
pub use self::finding::Diagnosis;
pub use self::hosts::{BadHosts, Hosts, Server};
pub use self::inquiry::{Inquiry, Limit, Unanswered};
pub use self::message::{Created, Node, Reply, Request, ServerTime};
pub use self::security::{
    Acl, BadAcl, BadCredential, BadTls, Ca, Credential, Credentials, Identity, Security, Sources, Tls,
};
pub use self::session::{Outlet, Session};
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
    /// Who we are, and what others may do to our nodes.
    pub security: Security,
}

/// What servers make of attempts to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// Each said no, in one way or another: it isn't up, or has no quorum.
    Refused,
    /// At least one said nothing, so that it or the line to it stands still.
    Silent,
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
    /// Every server was asked for another connection, in vain.
    StillAway(Away),
    /// Connected again, the same session. The servers know of no watch of ours any more.
    Reconnected,
    /// The session is over: it expired, or the server refuses us.
    Lost(Failure),
    /// The server confirmed that the session is closed, and its nodes gone.
    Closed,
}
