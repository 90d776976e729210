//! Sessions with ZooKeeper. This is the only module that uses the client library or anything async.
//!
//! The worker sends each [`Request`] through a [`Session`] and receives the [`Reply`] as an event. The subcommands and the
//! cleanup use a [`BlockingSession`], which waits for the answers.

mod background;
mod blocking_session;
mod connect;
mod diagnose;
mod diagnosis;
mod failure;
mod handshake;
mod inspect;
mod library_task;
mod read;
mod requests;
mod resolver;
mod security;
mod serving;
mod session;
mod write;

use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::resource::{Resource, getrlimit};
use zklock_core::time::BootTime;

pub use self::blocking_session::{Answer, BlockingError, BlockingSession, Limit};
pub use self::inspect::{ServerInfo, ServerReport, inspect};
pub use self::security::{CredentialError, Credentials, Security, Tls};
pub use self::session::{Requester, Session, SessionEvent};
pub use zklock_core::hosts::Hosts;
pub use zklock_core::path::NodePath;
pub use zklock_core::protocol::{
    Asker, LockNode, Node, ReadNode, Reply, Request, RequestError, ServerTime, SessionChange,
};

use crate::plan::Connection;

/// Everything needed to open a session.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The ensemble.
    pub hosts: Hosts,
    /// The session timeout to request. The server may grant another one, which then applies.
    pub session_timeout: Duration,
    /// When to give up connecting; `None` means never.
    pub deadline: Option<BootTime>,
    /// Whether to give up as soon as every server refuses the connection.
    pub refusals_end: bool,
    /// Credentials, TLS, and the ACL of the nodes that zklock creates.
    pub security: Security,
}

/// The smallest limit of open files with which zklock starts: it takes about 20, also to clean up after a killed worker.
const FEWEST_FILES: u64 = 64;

impl Settings {
    /// The settings for a session that must be open by `deadline`. Reads and checks the files that the user named.
    ///
    /// # Errors
    /// If a file can't be read or others can read its secret, if its content is invalid, if options contradict each
    /// other, or if too few files may be open.
    pub fn new(connection: &Connection, deadline: BootTime) -> Result<Self> {
        let (files, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
        ensure!(
            files >= FEWEST_FILES,
            "zklock may have {files} open files and needs {FEWEST_FILES}: raise the limit, as by 'ulimit -n 1024' or \
             LimitNOFILE=1024"
        );
        Ok(Self {
            hosts: connection.zookeeper.clone(),
            session_timeout: connection.session_timeout,
            deadline: Some(deadline),
            refusals_end: false,
            security: security::resolve(connection)?,
        })
    }
}
