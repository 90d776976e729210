//! `status`: shows the holders and waiters of locks, once or, with `--watch`, whenever they change.

mod json;
mod openmetrics;
mod screen;
mod table;

use std::io::{IsTerminal, stderr};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use log::Level;
use nix::sys::signal::Signal;
use zklock_core::exit::{self, Exit};
use zklock_core::path::LockPath;
use zklock_core::queue::once::record_path;
use zklock_core::text::without_controls;

use self::screen::Screen;
use super::listing::{Listing, Lock, locks, locks_below};
use super::other_recipes;
use super::session;
use super::{host_time, print};
use crate::cli::{Options, StatusOptions};
use crate::ensemble::{BlockingError, BlockingSession, NodePath, RequestError, Wakeup};

/// The exit code with `--exit-code` if one of the locks is held.
const HELD: u8 = 1;

/// The pause before the next attempt to connect, because servers may refuse immediately.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(super) fn run(status: &StatusOptions, options: &Options) -> Result<Exit> {
    if status.watch {
        return watch(status, options, connect(options)?);
    }
    let listing = match list_once(status, options) {
        // A monitor has to see that there is nothing to see.
        Err(error) if status.openmetrics => {
            print(openmetrics::text_without_answer().as_bytes())?;
            return Err(error);
        }
        listing => listing?,
    };
    let exit = show(status, &listing.locks)?;
    report_closed(&listing, is_incomplete(status, &listing));
    Ok(match exit {
        Exit::Code(0) if is_incomplete(status, &listing) => Exit::Code(exit::FAILURE),
        Exit::Code(0) if status.exit_code && listing.locks.iter().any(Lock::is_held) => Exit::Code(HELD),
        exit => exit,
    })
}

fn connect(options: &Options) -> Result<BlockingSession<'static>> {
    let mut session = session::open(options)?;
    session::check_chroot(&mut session, options)?;
    Ok(session)
}

fn list_once(status: &StatusOptions, options: &Options) -> Result<Listing> {
    let mut session = connect(options)?;
    let listing = list(status, &mut session)?;
    session.close();
    Ok(listing)
}

/// Whether the listing lacks something that the user asked for: a named path can't be listed, or, with `--exit-code`,
/// any path can't be.
fn is_incomplete(status: &StatusOptions, listing: &Listing) -> bool {
    !listing.closed.is_empty() && !is_recursive(status)
        || status.exit_code && !(listing.closed.is_empty() && listing.unlisted.is_empty())
}

/// Reports the paths that can't be listed, as errors if zklock `fails` because of them.
fn report_closed(listing: &Listing, fails: bool) {
    let level = if fails { Level::Error } else { Level::Warn };
    for line in closed_messages(listing) {
        log::log!(level, "{line}");
    }
}

/// A message for each path that can't be listed.
fn closed_messages(listing: &Listing) -> impl Iterator<Item = String> {
    let unlisted = listing.unlisted.iter().map(|path| other_recipes::unlisted(path));
    listing.closed.iter().map(|path| closed(path)).chain(unlisted)
}

fn closed(path: &str) -> String {
    let path = without_controls(path);
    format!("{path}: no permission to look there (READ): ask for it, or use other credentials")
}

fn is_recursive(status: &StatusOptions) -> bool {
    status.recursive || status.paths.is_empty()
}

fn list(status: &StatusOptions, session: &mut BlockingSession<'_>) -> Result<Listing> {
    if is_recursive(status) { locks_below(session, &roots(status)) } else { locks(session, &status.paths) }
}

/// The paths below which to search: without an argument, the root.
fn roots(status: &StatusOptions) -> Vec<String> {
    match status.paths.as_slice() {
        [] => vec!["/".to_owned()],
        paths => paths.iter().map(ToString::to_string).collect(),
    }
}

/// Shows the locks again whenever something below the paths changes. Between changes no requests are made.
fn watch(status: &StatusOptions, options: &Options, mut session: BlockingSession<'static>) -> Result<Exit> {
    let screen = Screen::of(status)?;
    let mut shown = None;
    session.wait_as_long_as_connected();
    loop {
        match show_and_wait(status, screen.as_ref(), &mut session, &mut shown) {
            Ok(None) => {}
            Ok(Some(exit)) => return Ok(exit),
            // The session has ended, so a new one is opened.
            Err(error)
                if matches!(
                    error.downcast_ref(),
                    Some(BlockingError::SessionEnded(RequestError::Expired | RequestError::GivenUp))
                ) =>
            {
                session = reopen(options)?;
                session.wait_as_long_as_connected();
            }
            Err(error) => return Err(error),
        }
    }
}

/// Opens another session, as soon as a server can be reached. Tries without a limit; the user can end it.
fn reopen(options: &Options) -> Result<BlockingSession<'static>> {
    loop {
        match session::open(options) {
            Err(error) if matches!(error.downcast_ref(), Some(BlockingError::Unreachable(..))) => {
                thread::sleep(RETRY_AFTER);
            }
            result => return result,
        }
    }
}

/// Shows the current state if it has changed, and waits for a change or a reconnection. Returns an exit if stdout is
/// closed.
fn show_and_wait(
    status: &StatusOptions,
    screen: Option<&Screen>,
    session: &mut BlockingSession<'_>,
    shown: &mut Option<Listing>,
) -> Result<Option<Exit>> {
    match show_changes(status, screen, session, shown) {
        // The rest of the listing is lost, and all of it is repeated after the reconnection.
        Err(error) if matches!(error.downcast_ref(), Some(BlockingError::Disconnected)) => {}
        Ok(None) => {}
        end => return end,
    }
    while session.wait_for_change(None)? == Wakeup::Disconnected {
        report_disconnection(screen, shown)?;
    }
    Ok(None)
}

/// Shows the current state if it has changed. Returns an exit if stdout is closed.
fn show_changes(
    status: &StatusOptions,
    screen: Option<&Screen>,
    session: &mut BlockingSession<'_>,
    shown: &mut Option<Listing>,
) -> Result<Option<Exit>> {
    if session.must_watch() {
        set_watches(status, session)?;
    }
    let listing = list(status, session)?;
    if shown.as_ref() != Some(&listing) {
        let exit = match screen {
            Some(screen) => screen.show(&listing, None)?,
            None => show(status, &listing.locks)?,
        };
        let is_reported =
            |shown: &Listing| (&shown.closed, &shown.unlisted) == (&listing.closed, &listing.unlisted);
        // Clearing the screen has removed the earlier warnings.
        let is_cleared = screen.is_some() && stderr().is_terminal();
        if is_cleared || !shown.as_ref().is_some_and(is_reported) {
            report_closed(&listing, false);
        }
        if exit == Exit::Signal(Signal::SIGPIPE as i32) {
            return Ok(Some(exit));
        }
        *shown = Some(listing);
    }
    Ok(None)
}

/// Says that the shown state may be old, because there is no connection.
fn report_disconnection(screen: Option<&Screen>, shown: &mut Option<Listing>) -> Result<()> {
    let Some(screen) = screen.filter(|screen| !screen.is_blank()) else {
        log::warn!("no connection to the servers: what was shown last may be old");
        return Ok(());
    };
    if let Some(listing) = shown.take() {
        screen.show(&listing, Some(host_time()))?;
    }
    Ok(())
}

fn set_watches(status: &StatusOptions, session: &mut BlockingSession<'_>) -> Result<()> {
    let records = status.paths.iter().map(LockPath::as_str).map(record_path);
    let roots = roots(status).into_iter().map(NodePath::from);
    for answer in session.watch_below(roots.chain(records))? {
        answer.map_err(|failure| anyhow!("can't watch: {failure}"))?;
    }
    Ok(())
}

fn show(status: &StatusOptions, locks: &[Lock]) -> Result<Exit> {
    if status.json {
        let text = json::text(locks, !status.watch)?;
        return print(format!("{text}\n").as_bytes());
    }
    if status.openmetrics {
        return print(openmetrics::text(locks, host_time()).as_bytes());
    }
    print(table::text(locks, &table::Style::of_stdout()).as_bytes())
}
