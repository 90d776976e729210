//! The session of a verb: an [`Inquiry`] whose errors are messages for the user.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use thiserror::Error;

use crate::cli::Options;
use crate::core::duration;
use crate::core::message::Message;
use crate::core::protocol::Node;
use crate::core::text::without_controls;
use crate::runtime::clock;
use crate::runtime::zk::{
    Inquiry, InquiryError, Limit, NodePath, Reply, Request, RequestError, Settings, Wakeup,
};

/// No server could be reached in time. The message has each server's diagnosis.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct UnreachableError(String);

/// The most attempts if the connection is lost each time.
const MOST_TRIES: usize = 10;

/// What the server answered.
pub(super) type Answer<T> = Result<T, RequestError>;

/// A session that sends requests and waits for changes.
pub(super) struct AdminSession {
    inquiry: Inquiry<'static>,
    connect_timeout: Duration,
    has_chroot: bool,
}

impl AdminSession {
    /// Connects, within `--connect-timeout`.
    pub(super) fn open(options: &Options) -> Result<Self> {
        let connect_timeout = options.ensemble.connect_timeout;
        let settings = Settings::new(&options.connection(), clock::now() + connect_timeout)?;
        let mut inquiry = Inquiry::open(settings, Limit::Each(connect_timeout))?;
        inquiry.connect().map_err(|why| explain(why, connect_timeout))?;
        let has_chroot = !options.ensemble.zookeeper.chroot_text().is_empty();
        Ok(Self { inquiry, connect_timeout, has_chroot })
    }

    /// Fails if the chroot doesn't exist. Without this check, a mistake in the connect string would look like free
    /// locks.
    pub(super) fn check_chroot(&mut self, options: &Options) -> Result<()> {
        let chroot = options.ensemble.zookeeper.chroot_text();
        if self.has_chroot
            && let Err(RequestError::NoNode) = self.get("/".into())?
        {
            bail!(
                "the chroot {chroot} of the connect string doesn't exist: create it once with \
                 'zklock check --create-chroot' and the same connect string, or correct the connect string"
            );
        }
        Ok(())
    }

    /// Whether the connect string has a chroot, below which all paths are.
    pub(super) fn has_chroot(&self) -> bool {
        self.has_chroot
    }

    /// See [`Inquiry::must_watch`].
    pub(super) fn must_watch(&mut self) -> bool {
        self.inquiry.must_watch()
    }

    /// Reads a node.
    pub(super) fn get(&mut self, node: NodePath) -> Result<Answer<Node>> {
        self.one(Request::Get(node), |reply| match reply {
            Reply::Read(_, answer) => Some(answer),
            _ => None,
        })
    }

    /// Reads nodes, all in flight together; the answers are in their order, with the paths.
    pub(super) fn get_all(&mut self, nodes: Vec<NodePath>) -> Result<Vec<(NodePath, Answer<Node>)>> {
        self.all(nodes.into_iter().map(Request::Get), |reply| match reply {
            Reply::Read(path, answer) => Some((path, answer)),
            _ => None,
        })
    }

    /// Lists the children of nodes, all in flight together; the answers are in their order.
    pub(super) fn list_all(&mut self, nodes: Vec<NodePath>) -> Result<Vec<Answer<Vec<String>>>> {
        self.all(nodes.into_iter().map(Request::List), |reply| match reply {
            Reply::Listed(answer) => Some(answer),
            _ => None,
        })
    }

    /// Watches these paths and everything below them; the answers are in their order.
    pub(super) fn watch_below(&mut self, nodes: Vec<NodePath>) -> Result<Vec<Answer<()>>> {
        self.all(nodes.into_iter().map(Request::WatchBelow), |reply| match reply {
            Reply::Watching(answer) => Some(answer),
            _ => None,
        })
    }

    /// Replaces a node's data, if it still has this version.
    pub(super) fn write(&mut self, node: NodePath, data: Vec<u8>, version: i32) -> Result<Answer<()>> {
        self.one(Request::Write(node, data, version), |reply| match reply {
            Reply::Written(answer) => Some(answer.map(drop)),
            _ => None,
        })
    }

    /// Deletes a node, if it still has this version; `None`: whatever version it has.
    pub(super) fn delete(&mut self, node: NodePath, version: Option<i32>) -> Result<Answer<()>> {
        let request = match version {
            Some(version) => Request::DeleteUnchanged(node, version),
            None => Request::Delete(node),
        };
        self.one(request, |reply| match reply {
            Reply::Deleted(answer) => Some(answer),
            _ => None,
        })
    }

    /// Deletes a node whatever version it has, again if the answer was lost. Returns whether it was there.
    pub(super) fn delete_any_version(&mut self, node: &NodePath) -> Result<Answer<bool>> {
        for tries in 0..MOST_TRIES {
            match self.delete(node.clone(), None)? {
                Ok(()) => return Ok(Ok(true)),
                // Deleted already, if an answer was lost.
                Err(RequestError::NoNode) => return Ok(Ok(tries > 0)),
                Err(RequestError::ConnectionLost) => {}
                Err(failure) => return Ok(Err(failure)),
            }
        }
        let node = without_controls(node.as_str());
        bail!("{node}: the connection was lost {MOST_TRIES} times before an answer came")
    }

    fn one<T>(&mut self, request: Request, decode: impl Fn(Reply) -> Option<T>) -> Result<T> {
        self.all([request].into_iter(), decode)?.pop().context("no answer")
    }

    /// See [`Inquiry::ask_all`].
    fn all<T>(
        &mut self,
        requests: impl Iterator<Item = Request>,
        decode: impl Fn(Reply) -> Option<T>,
    ) -> Result<Vec<T>> {
        let requests: Vec<_> = requests.collect();
        let replies = self.inquiry.ask_all(&requests).map_err(|why| explain(why, self.connect_timeout))?;
        replies.into_iter().map(|reply| decode(reply).context("an answer to another question")).collect()
    }

    /// See [`Inquiry::wait_for_change`].
    pub(super) fn wait_for_change(&mut self) -> Result<Wakeup> {
        self.inquiry.wait_for_change().map_err(|why| explain(why, self.connect_timeout))
    }

    /// Ends the session.
    pub(super) fn close(self) {
        self.inquiry.close();
    }
}

fn explain(why: InquiryError, connect_timeout: Duration) -> anyhow::Error {
    match why {
        InquiryError::Unreachable(servers) => {
            UnreachableError(Message::Unreachable { within: Some(connect_timeout), servers }.to_string())
                .into()
        }
        InquiryError::SessionEnded(failure) => failure.into(),
        InquiryError::TimedOut | InquiryError::GivenUp => {
            anyhow!("no answer within {}; check the servers' load", duration::text(connect_timeout))
        }
    }
}
