//! The session of a subcommand.

use anyhow::{Context, Result, bail};
use zklock_core::path::NodePath;
use zklock_core::server_wait::{Awaited, ServerWait};
use zklock_core::text::without_controls;

use crate::cli::Options;
use crate::ensemble::{Answer, BlockingSession, Limit, RequestError, Settings};
use crate::process::clock;

/// The most attempts to delete a node if the connection is lost each time.
const MOST_TRIES: usize = 10;

/// Why there is no session if its thread can't be started.
pub(super) const NO_THREAD: &str = "can't start a thread for the session";

/// Connects, within `--connect-timeout`.
pub(super) fn open(options: &Options) -> Result<BlockingSession<'static>> {
    let connect_timeout = options.ensemble.connect_timeout;
    let settings = Settings::new(&options.connection(), clock::now() + connect_timeout)?;
    let tells = tells(&settings);
    let session = BlockingSession::open(settings, Limit::Each(connect_timeout)).context(NO_THREAD)?;
    let mut session = session.telling(tells);
    session.connect()?;
    Ok(session)
}

/// Reports as a step what each server says while there is no session.
pub(super) fn tells(settings: &Settings) -> impl Fn(&[String]) + use<> {
    let (began, deadline, hosts) = (clock::now(), settings.deadline, settings.hosts.to_string());
    move |servers| {
        let now = clock::now();
        let wait = ServerWait {
            awaited: Awaited::Session,
            waited: now.since(began),
            left: deadline.map(|deadline| now.until(deadline)),
            ready_in: None,
            holds: false,
            hosts: hosts.clone(),
            servers: servers.to_vec(),
        };
        log::info!("{wait}");
    }
}

/// Fails if the chroot doesn't exist. Without this check, a mistake in the connect string would look like free locks.
pub(super) fn check_chroot(session: &mut BlockingSession<'_>, options: &Options) -> Result<()> {
    let chroot = options.ensemble.zookeeper.chroot_text();
    if session.has_chroot()
        && let Err(RequestError::NoNode) = session.get("/".into())?
    {
        bail!(
            "the chroot {chroot} of the connect string doesn't exist: create it once with \
             'zklock check --create-chroot' and the same connect string, or correct the connect string"
        );
    }
    Ok(())
}

/// Deletes a node whatever version it has, again if the answer was lost. Returns whether it was there.
pub(super) fn delete_any_version(session: &mut BlockingSession<'_>, node: &NodePath) -> Result<Answer<bool>> {
    for tries in 0..MOST_TRIES {
        match session.delete(node.clone())? {
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
