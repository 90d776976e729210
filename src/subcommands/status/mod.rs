//! `status`: shows the holders and waiters of locks, once or, with `--watch`, again and again.

mod openmetrics;
mod table;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::{Result, ensure};
use console::Term;
use log::Level;
use nix::sys::signal::Signal;
use serde::Serialize;
use zklock_core::exit::{self, Exit};
use zklock_core::text::without_controls;

use self::table::Style;
use super::listing::{Listing, Lock, locks, locks_below};
use super::print;
use super::session::in_session;
use crate::cli::{Options, StatusOptions};
use crate::ensemble::BlockingSession;
use crate::process::clock;

/// The exit code with `--exit-code` if one of the locks is held.
const HELD: u8 = 1;

/// How long `--watch` pauses between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// The version of the JSON, which `docs/json.md` specifies. It changes if a field is removed or changes its meaning;
/// new fields may be added at any time.
const VERSION: u32 = 2;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    locks: &'a [Lock],
}

pub(super) fn run(status: &StatusOptions, options: &Options) -> Result<Exit> {
    if status.watch {
        return watch(status, options);
    }
    let listing = match in_session(options, |session| list(status, session)) {
        // A monitor has to see that there is nothing to see.
        Err(error) if status.openmetrics => {
            print(openmetrics::text_without_answer().as_bytes())?;
            return Err(error);
        }
        listing => listing?,
    };
    let exit = print(text(status, &listing.locks)?.as_bytes())?;
    report_closed(&listing, is_incomplete(status, &listing));
    Ok(match exit {
        Exit::Code(0) if is_incomplete(status, &listing) => Exit::Code(exit::FAILURE),
        Exit::Code(0) if status.exit_code && listing.locks.iter().any(Lock::is_held) => Exit::Code(HELD),
        exit => exit,
    })
}

/// Whether the listing lacks something that the user asked for: a named path can't be listed, or, with `--exit-code`,
/// any path can't be.
fn is_incomplete(status: &StatusOptions, listing: &Listing) -> bool {
    !listing.closed.is_empty() && (status.exit_code || !is_recursive(status))
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
    listing.closed.iter().map(|path| {
        let path = without_controls(path);
        format!("{path}: no permission to look there (READ): ask for it, or use other credentials")
    })
}

fn is_recursive(status: &StatusOptions) -> bool {
    status.recursive || status.paths.is_empty()
}

fn list(status: &StatusOptions, session: &mut BlockingSession<'_>) -> Result<Listing> {
    if is_recursive(status) {
        return locks_below(session, &roots(status));
    }
    let mut listing = locks(session, &status.paths)?;
    // For people only: the search may take many requests.
    let is_for_people = !(status.json || status.openmetrics || status.watch);
    for lock in listing.locks.iter_mut().filter(|lock| is_for_people && lock.is_free()) {
        let below = locks_below(session, std::slice::from_ref(&lock.path))?;
        lock.busy_below = below.locks.iter().filter(|below| !below.contenders().is_empty()).count();
    }
    Ok(listing)
}

/// The paths below which to search: without an argument, the root.
fn roots(status: &StatusOptions) -> Vec<String> {
    match status.paths.as_slice() {
        [] => vec!["/".to_owned()],
        paths => paths.iter().map(ToString::to_string).collect(),
    }
}

/// Shows the locks again and again. Returns only if stdout is closed.
fn watch(status: &StatusOptions, options: &Options) -> Result<Exit> {
    ensure!(
        !status.paths.is_empty() || options.connection.zookeeper.chroot.is_some(),
        "--watch without a path would read every node of the servers every {} s: name a path, or add a chroot to the \
         connect string",
        PAUSE.as_secs()
    );
    let is_screen = !status.json && stdout().is_terminal();
    let mut shown = None;
    in_session(options, |session| {
        session.wait_without_limit();
        loop {
            let listing = list(status, session)?;
            let mut exit = Exit::Code(0);
            if is_screen {
                // Drawn each time, because the size of the terminal may have changed.
                exit = print(screen(&listing).as_bytes())?;
            } else if shown.as_ref() != Some(&listing) {
                report_closed(&listing, false);
                exit = print(text(status, &listing.locks)?.as_bytes())?;
            }
            if exit == Exit::Signal(Signal::SIGPIPE as i32) {
                return Ok(exit);
            }
            shown = Some(listing);
            let next = clock::now() + PAUSE;
            while session.wait_for_change(Some(next))? {}
        }
    })
}

/// What overwrites a terminal's screen with this listing.
fn screen(listing: &Listing) -> String {
    let style = Style::of_stdout();
    let closed: String = closed_messages(listing).map(|line| style.cut(&format!("zklock: {line}"))).collect();
    let (rows, _) = Term::stdout().size();
    // One line is left for the cursor.
    let height = usize::from(rows).saturating_sub(1 + closed.lines().count());
    let table = table::text(&listing.locks, &Style { height: Some(height), ..style });
    // From the top left corner, and without what is left of the line or the screen.
    format!("\x1b[H{}\x1b[J", (closed + &table).replace('\n', "\x1b[K\n"))
}

fn text(status: &StatusOptions, locks: &[Lock]) -> Result<String> {
    let document = Document { version: VERSION, locks };
    Ok(match (status.json, status.openmetrics) {
        (true, _) if status.watch => serde_json::to_string(&document)? + "\n",
        (true, _) => serde_json::to_string_pretty(&document)? + "\n",
        (false, true) => openmetrics::text(locks, clock::host_time()),
        (false, false) => table::text(locks, &Style::of_stdout()),
    })
}
