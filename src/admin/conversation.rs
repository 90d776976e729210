//! Questions to the ensemble and its answers, as a verb needs them, in words for its user.

use std::time::Duration;

use anyhow::{Error, Result, anyhow, bail};

use crate::cli::Options;
use crate::core::duration;
use crate::core::message::Message;
use crate::runtime::clock;
use crate::runtime::zk::{Inquiry, Limit, Reply, Request, Unanswered, Wakeup};

/// A session to ask and to watch with.
pub(super) struct Conversation {
    inquiry: Inquiry<'static>,
    patience: Duration,
    has_chroot: bool,
}

impl Conversation {
    /// Connects, within the time for that.
    pub(super) fn open(options: &Options) -> Result<Self> {
        let patience = options.ensemble.connect_timeout;
        let settings = options.settings(clock::now() + patience)?;
        let mut inquiry = Inquiry::open(settings, Limit::Each(patience))?;
        inquiry.connect().map_err(|why| explain(why, patience))?;
        let has_chroot = !options.ensemble.zookeeper.chroot_text().is_empty();
        Ok(Self { inquiry, patience, has_chroot })
    }

    /// Whether all that is seen is below a chroot.
    pub(super) fn has_chroot(&self) -> bool {
        self.has_chroot
    }

    /// See [`Inquiry::must_watch`].
    pub(super) fn must_watch(&mut self) -> bool {
        self.inquiry.must_watch()
    }

    /// Asks one thing.
    pub(super) fn ask(&mut self, request: Request) -> Result<Reply> {
        match self.ask_all(&[request])?.pop() {
            Some(reply) => Ok(reply),
            None => bail!("no answer"),
        }
    }

    /// See [`Inquiry::ask_all`].
    pub(super) fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>> {
        self.inquiry.ask_all(requests).map_err(|why| explain(why, self.patience))
    }

    /// See [`Inquiry::wait_for_change`].
    pub(super) fn wait_for_change(&mut self) -> Result<Wakeup> {
        self.inquiry.wait_for_change().map_err(|why| explain(why, self.patience))
    }

    /// Ends the session.
    pub(super) fn close(self) {
        self.inquiry.close();
    }
}

fn explain(why: Unanswered, patience: Duration) -> Error {
    match why {
        Unanswered::Unreachable(servers) => {
            anyhow!("{}", Message::Unreachable { within: Some(patience), servers })
        }
        Unanswered::Over(failure) => failure.into(),
        Unanswered::TooLate | Unanswered::GivenUp => {
            anyhow!("no answer within {}; check the servers' load", duration::text(patience))
        }
    }
}
