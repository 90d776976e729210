//! The session of a subcommand.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use log::Level;
use nix::unistd::getpid;
use zklock_core::exit::Exit;
use zklock_core::message::Message;
use zklock_core::path::NodePath;
use zklock_core::queue::contender::ContentionError;
use zklock_core::server_wait::ServerWait;
use zklock_core::signal::SIGINT;

use crate::cli::{Options, Subcommand};
use crate::ensemble::{
    Answer, BlockingError, BlockingSession, Limit, ReadNode, Request, RequestError, Settings,
};
use crate::output;
use crate::process::clock;
use crate::process::end::end;

/// Works in a session, which is opened within `--connect-timeout` and then closed.
pub(super) fn in_session<T>(
    options: &Options,
    work: impl FnOnce(&mut BlockingSession<'_>) -> Result<T>,
) -> Result<T> {
    let connect_timeout = options.connection.connect_timeout;
    let settings = Settings::new(&options.connection, clock::now() + connect_timeout)?;
    let within = (connect_timeout, "--connect-timeout");
    in_session_of(options, settings, Limit::Each(connect_timeout), within, work)
}

/// The same with other settings and limits. `within` says how long it connects, and which option says so.
pub(crate) fn in_session_of<T>(
    options: &Options,
    settings: Settings,
    limit: Limit,
    within: (Duration, &'static str),
    work: impl FnOnce(&mut BlockingSession<'_>) -> Result<T>,
) -> Result<T> {
    let connect_by = settings.deadline;
    let mut session = BlockingSession::new(settings, limit, tells(options));
    session.connect().map_err(|error| match error {
        BlockingError::Unreachable(servers) => {
            // With `-n` it may not have waited for the servers.
            let within = connect_by.is_none_or(|by| by <= clock::now()).then_some(within);
            anyhow!(Message::unreachable(within, servers))
        }
        error => error.into(),
    })?;
    // Otherwise a mistake in the connect string would look like free locks.
    if session.has_chroot() && session.ask::<ReadNode>(Request::Get("/".into()))? == Err(RequestError::NoNode)
    {
        bail!(ContentionError::NoChroot(options.connection.zookeeper.chroot_text().to_owned()));
    }
    let done = work(&mut session);
    session.close();
    done
}

/// Shows a wait for the servers: in a line on a terminal, and as a step at its beginning and whenever what the servers say
/// changes. With `--watch` it is a warning, because what was shown last may be old.
pub(super) fn tells(options: &Options) -> impl FnMut(Option<&ServerWait>) + use<> {
    let mut line = line(options);
    let is_watch = matches!(&options.subcommand, Some(Subcommand::Status(status)) if status.watch);
    let level = if is_watch { Level::Warn } else { Level::Info };
    let mut told = None;
    move |wait| {
        line(wait.map(ToString::to_string));
        if let Some(wait) = wait
            && told.as_ref() != Some(&(wait.awaited, wait.servers.clone()))
        {
            log::log!(level, "{wait}");
            told = Some((wait.awaited, wait.servers.clone()));
        }
    }
}

/// Shows a wait in a line on the terminal, if there is one and `-q` or JSON don't hide it. Ctrl-C removes the line.
pub(super) fn line(options: &Options) -> impl FnMut(Option<String>) + use<> {
    let is_shown = !options.is_json && output::can_draw_line();
    if is_shown {
        // An error means that a handler is there already, or that SIGINT is ignored.
        let _ = ctrlc::try_set_handler(|| {
            erase();
            end(Exit::Signal(SIGINT));
        });
    }
    move |text| {
        if is_shown {
            match text {
                Some(text) => output::draw_line(&text, getpid()),
                None => erase(),
            }
        }
    }
}

/// Removes the line: when this returns, it is removed.
fn erase() {
    output::erase_line();
    output::drain(output::BRIEFLY);
}

/// How many answers to one request may be lost with the connection: the server may close it because of the request.
const MOST_LOST: usize = 8;

/// Deletes a node whatever version it has, again if the answer was lost. Returns whether it was there.
pub(super) fn delete_any_version(session: &mut BlockingSession<'_>, node: &NodePath) -> Result<Answer<bool>> {
    for lost in 0..MOST_LOST {
        match session.ask(Request::Delete(node.clone()))? {
            Err(RequestError::ConnectionLost) => {}
            // Deleted already, if an answer was lost.
            Err(RequestError::NoNode) => return Ok(Ok(lost > 0)),
            answer => return Ok(answer.map(|()| true)),
        }
    }
    Ok(Err(RequestError::ConnectionLost))
}
