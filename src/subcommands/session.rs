//! The session of a subcommand.

use anyhow::{Context, Result, bail};
use nix::unistd::getpgrp;
use zklock_core::path::NodePath;
use zklock_core::server_wait::ServerWait;

use crate::cli::{LogFormat, Options};
use crate::ensemble::{Answer, BlockingSession, Limit, RequestError, Settings};
use crate::output;
use crate::process::clock;

/// Why there is no session if its thread can't be started.
pub(super) const NO_THREAD: &str = "can't start a thread for the session";

/// Connects, within `--connect-timeout`.
pub(super) fn open(options: &Options) -> Result<BlockingSession<'static>> {
    let connect_timeout = options.ensemble.connect_timeout;
    let settings = Settings::new(&options.connection(), clock::now() + connect_timeout)?;
    let session = BlockingSession::open(settings, Limit::Each(connect_timeout)).context(NO_THREAD)?;
    let mut session = session.telling(tells(options));
    session.connect()?;
    Ok(session)
}

/// Shows a wait for the servers: in a line on a terminal, and as a step at its beginning and whenever what the servers say
/// changes.
pub(super) fn tells(options: &Options) -> impl FnMut(Option<&ServerWait>) + use<> {
    let mut line = line(options);
    let mut told = None;
    move |wait| {
        line(wait.map(ToString::to_string));
        if let Some(wait) = wait
            && told.as_ref() != Some(&(wait.awaited, wait.servers.clone()))
        {
            log::info!("{wait}");
            told = Some((wait.awaited, wait.servers.clone()));
        }
    }
}

/// Shows a wait in a line on the terminal, if there is one and `-q` or JSON don't hide it.
pub(super) fn line(options: &Options) -> impl FnMut(Option<String>) + use<> {
    let is_shown = options.ensemble.log_format == LogFormat::Text && output::can_draw_line();
    move |text| {
        if is_shown {
            output::draw_text(text, getpgrp());
        }
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
    let answer = session.ask_again(|session, lost| match session.delete(node.clone())? {
        // Deleted already, if an answer was lost.
        Err(RequestError::NoNode) => Ok(Ok(lost > 0)),
        answer => Ok(answer.map(|()| true)),
    });
    Ok(answer?)
}
