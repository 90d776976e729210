//! The screen of `status --watch`: shows only the current state, and is drawn again when the terminal's size changes.

use std::io::{self, IsTerminal, stdout};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use signal_hook::consts::SIGWINCH;
use signal_hook::iterator::Signals;
use zklock_core::exit::Exit;

use super::{closed_messages, print, table};
use crate::cli::StatusOptions;
use crate::ensemble::ServerTime;
use crate::process::thread;
use crate::subcommands::listing::Listing;

/// Moves the cursor to the top left corner, and clears the screen and the scrollback.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J\x1b[3J";

/// A listing, and since when there has been no connection.
type Picture = (Listing, Option<ServerTime>);

/// The terminal's current content, shared with the thread that handles SIGWINCH.
#[derive(Debug, Default)]
pub(super) struct Screen {
    picture: Arc<Mutex<Option<Picture>>>,
}

impl Screen {
    /// `None` if stdout isn't a terminal, or `--json` prints a line for each state.
    pub(super) fn of(status: &StatusOptions) -> io::Result<Option<Self>> {
        if !status.watch || status.json || !stdout().is_terminal() {
            return Ok(None);
        }
        let screen = Self::default();
        let picture = Arc::clone(&screen.picture);
        let mut resized = Signals::new([SIGWINCH])?;
        thread::builder().name("resize".to_owned()).spawn(move || {
            for _ in &mut resized {
                let picture = picture.lock().unwrap_or_else(PoisonError::into_inner);
                // A closed stdout is noticed at the next change.
                let _ = picture.as_ref().map(draw);
            }
        })?;
        Ok(Some(screen))
    }

    /// Whether nothing has been shown yet.
    pub(super) fn is_blank(&self) -> bool {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Shows only this listing, with a warning if there has been no connection since `away_since`.
    pub(super) fn show(&self, listing: &Listing, away_since: Option<ServerTime>) -> Result<Exit> {
        let mut picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        draw(picture.insert((listing.clone(), away_since)))
    }
}

fn draw((listing, away_since): &Picture) -> Result<Exit> {
    let old = away_since.map(|since| {
        format!("no connection to the servers since {}: this may be old", table::time(Some(since)))
    });
    let style = table::Style::of_stdout();
    let old = old.map(|old| style.cut(&old)).unwrap_or_default();
    let closed = closed_messages(listing).map(|line| style.rows(&format!("zklock: {line}"))).sum::<usize>();
    let style = style.on_screen(old.lines().count() + closed);
    print(format!("{CLEAR_SCREEN}{old}{}", table::text(&listing.locks, &style)).as_bytes())
}
