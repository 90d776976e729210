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
mod inspect;
mod perform;
mod read;
mod security;
mod session;
mod task;
mod tour;
mod watches;
mod write;

use std::time::Duration;

pub use self::hosts::{Hosts, HostsError, Server};
pub use self::inquiry::{Inquiry, Limit, Unanswered, Wakeup};
pub use self::inspect::{Inspected, Said, inspect};
pub use self::security::{
    Acl, AclError, Ca, Credential, CredentialError, Credentials, Identity, Security, Sources, Tls, TlsError,
};
pub use self::session::{Outlet, Session};
pub use crate::core::path::NodePath;
pub use crate::core::protocol::{
    Asker, Away, Created, Failure, Node, Reply, Request, ServerTime, SessionChange, SessionKey,
};
use crate::core::time::BootTime;

/// What it takes to connect.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The ensemble.
    pub hosts: Hosts,
    /// The session timeout to ask for; the server's answer is what counts.
    pub session_timeout: Duration,
    /// When to give up connecting; `None` is never.
    pub deadline: Option<BootTime>,
    /// Whether to give up as soon as every server refuses the connection.
    pub refusals_end: bool,
    /// Who we are, and what others may do to our nodes.
    pub security: Security,
}
