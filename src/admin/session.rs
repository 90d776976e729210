//! The session of a verb: an [`Inquiry`] whose errors are messages for the user.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use thiserror::Error;

use crate::cli::Options;
use crate::core::duration;
use crate::core::message::Message;
use crate::runtime::clock;
use crate::runtime::zk::{Inquiry, InquiryError, Limit, Reply, Request, RequestError, Settings, Wakeup};

/// No server could be reached in time. The message has each server's diagnosis.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct UnreachableError(String);

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
            && let Reply::Read(_, Err(RequestError::NoNode)) = self.ask(Request::Get("/".into()))?
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

    /// Sends one request. See [`Inquiry::ask_all`].
    pub(super) fn ask(&mut self, request: Request) -> Result<Reply> {
        match self.ask_all(&[request])?.pop() {
            Some(reply) => Ok(reply),
            None => bail!("no answer"),
        }
    }

    /// See [`Inquiry::ask_all`].
    pub(super) fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>> {
        self.inquiry.ask_all(requests).map_err(|why| explain(why, self.connect_timeout))
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
