//! Giving the locks back: delete and close, and wait until both are answered.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::claim::{Claim, Notice};
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::lock::path::LockPath;
use crate::lock::set::Set;
use crate::{sys, ui};

/// Longer than this nobody waits for servers that don't answer.
const LONGEST: Duration = Duration::from_secs(5);

/// What there is to do after the command takes no longer: the record of its success, the release, and some last words.
pub const LONGEST_END: Duration = Duration::from_secs(20);

/// For an attempt to connect that is given up.
const NOTHING_TO_LOSE: Duration = Duration::from_millis(500);

/// What is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Giving {
    /// A place in the queue. Nothing ran: a signal ends zklock at once, and the worker goes on deleting the nodes.
    UpWaiting,
    /// The locks. The command has ended, and its exit code must not be lost.
    Back,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The session is over, and no node of ours is left.
    Done,
    /// No server said so in time.
    Unconfirmed,
    /// A signal cut it short.
    CutShort(Signal),
}

/// Deletes our nodes and closes the session.
pub fn release(claim: &mut Claim, events: &Events, giving: Giving) -> io::Result<Release> {
    if claim.is_over() {
        return Ok(Release::Done);
    }
    let nodes: Vec<LockPath> =
        claim.set().into_iter().flat_map(Set::nodes).map(|(path, _)| path.clone()).collect();
    let until = BootTime::now() + patience(claim);
    claim.release();
    loop {
        match events.next(Some(until))? {
            None => {
                for path in &nodes {
                    ui::warn(
                        path,
                        "no server confirmed the release; the lock is free at the end of the session timeout",
                    );
                }
                return Ok(Release::Unconfirmed);
            }
            Some(Event::Signal(signal)) if giving == Giving::UpWaiting && ends_us(signal) => {
                return Ok(Release::CutShort(signal));
            }
            Some(Event::MonitorDied) => let_go(),
            Some(event) => {
                for notice in claim.take(event) {
                    if let Some(said) = end(&notice, giving) {
                        for path in &nodes {
                            ui::step(path, said);
                        }
                        return Ok(Release::Done);
                    }
                }
            }
        }
    }
}

/// The monitor is dead: for the caller zklock has ended. It waits for the end of its pipes, perhaps.
pub fn let_go() {
    ui::drain();
    sys::let_go_of_the_caller();
}

/// How long to wait for servers at the end; the nodes go with the session then. Without a session there is
/// nothing of ours to wait for.
pub fn patience(claim: &mut Claim) -> Duration {
    claim.lease().map_or(NOTHING_TO_LOSE, |lease| lease.timeout().min(LONGEST))
}

/// What to say of a notice that ends the session.
fn end(notice: &Notice, giving: Giving) -> Option<&'static str> {
    match (notice, giving) {
        (Notice::Closed, Giving::Back) => Some("released"),
        (Notice::Closed, Giving::UpWaiting) => Some("left the queue"),
        (Notice::Lost(_) | Notice::Unreachable(_), _) => {
            Some("the session is over, and the node gone with it")
        }
        _ => None,
    }
}

/// Whether a signal asks zklock to end.
pub fn ends_us(signal: Signal) -> bool {
    matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT)
}
