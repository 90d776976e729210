//! Giving the locks back: delete and close, and wait until both are answered.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::claim::{Claim, Notice};
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::exit::Exit;
use crate::lock::path::LockPath;
use crate::lock::set::Set;
use crate::ui;

/// Longer than this nobody waits for servers that don't answer; the nodes go with the session then.
const LONGEST: Duration = Duration::from_secs(5);

/// Who may cut the release short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Nothing ran: a signal ends zklock at once, and the session takes the nodes with it.
    UntilSignalled,
    /// The command has ended and its exit code must not be lost.
    ToTheEnd,
}

/// Releases the locks. Returns the exit that a signal demands, if one cut it short.
pub fn release(claim: &mut Claim, events: &Events, patience: Patience) -> io::Result<Option<Exit>> {
    let nodes: Vec<LockPath> =
        claim.set().into_iter().flat_map(Set::nodes).map(|(path, _)| path.clone()).collect();
    let timeout = claim.lease().map_or(LONGEST, |lease| lease.timeout().min(LONGEST));
    if claim.is_over() {
        return Ok(None);
    }
    let until = BootTime::now() + timeout;
    claim.release();
    loop {
        match events.next(Some(until))? {
            None => {
                for path in &nodes {
                    let text = "no server confirmed the release; the lock is free when the session ends";
                    ui::warn(path, format_args!("{text}, within the session timeout"));
                }
                return Ok(None);
            }
            Some(Event::Signal(
                signal @ (Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT),
            )) if patience == Patience::UntilSignalled => {
                return Ok(Some(Exit::Signal(signal as i32)));
            }
            Some(event) => {
                let gone = |notice: &Notice| {
                    matches!(notice, Notice::Closed | Notice::Lost(_) | Notice::Unreachable(_))
                };
                if claim.take(event).iter().any(gone) {
                    for path in &nodes {
                        ui::step(path, "released");
                    }
                    return Ok(None);
                }
            }
        }
    }
}
