//! Giving the locks back: delete and close, and wait until both are answered.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::claim::{Claim, Notice};
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::lock::path::LockPath;
use crate::lock::set::Set;
use crate::pair::{self, Remains};
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
    let nodes: Vec<LockPath> =
        claim.set().into_iter().flat_map(Set::nodes).map(|(path, _)| path.clone()).collect();
    if claim.is_over() {
        return Ok(over(claim, events, giving, &nodes));
    }
    let until = BootTime::now() + patience(claim);
    claim.release();
    loop {
        match events.next(Some(until))? {
            None => return Ok(unconfirmed(&nodes)),
            Some(Event::Signal(signal)) if giving == Giving::UpWaiting && ends_us(signal) => {
                return Ok(Release::CutShort(signal));
            }
            Some(Event::MonitorDied) => let_go(),
            Some(event) => {
                let closed = claim.take(event).iter().any(|notice| matches!(notice, Notice::Closed));
                if closed {
                    let said = if giving == Giving::Back { "released" } else { "left the queue" };
                    say(&nodes, said);
                    return Ok(Release::Done);
                }
                if claim.is_over() {
                    return Ok(over(claim, events, giving, &nodes));
                }
            }
        }
    }
}

/// The session is over, and hasn't ended by our hand. Where no server has said so, another session asks for our nodes.
fn over(claim: &mut Claim, events: &Events, giving: Giving, nodes: &[LockPath]) -> Release {
    if !claim.is_gone() {
        let until = BootTime::now() + patience(claim);
        let mut cut_short = None;
        let gone = left_behind(claim).is_none_or(|remains| {
            pair::clean(claim.settings(), &remains, || {
                while let Some(event) = events.pending() {
                    match event {
                        Event::Signal(signal) if giving == Giving::UpWaiting && ends_us(signal) => {
                            cut_short = Some(signal);
                        }
                        Event::MonitorDied => let_go(),
                        _ => {}
                    }
                }
                cut_short.is_some() || BootTime::now() >= until
            })
        });
        if !gone {
            return cut_short.map_or_else(|| unconfirmed(nodes), Release::CutShort);
        }
    }
    say(nodes, "the session is over, and the node gone with it");
    Release::Done
}

/// What the session leaves at the servers as long as it may live. `None`: there was no session.
pub fn left_behind(claim: &mut Claim) -> Option<Remains> {
    let session_timeout = claim.lease()?.timeout();
    let entering = claim.worker().page().entering();
    Some(Remains { session_timeout, nodes: claim.owned_nodes(), entering })
}

fn say(paths: &[LockPath], what: &str) {
    for path in paths {
        ui::step(path, what);
    }
}

fn unconfirmed(nodes: &[LockPath]) -> Release {
    for path in nodes {
        ui::warn(path, "no server confirmed the release; the lock is free at the end of the session timeout");
    }
    Release::Unconfirmed
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

/// Whether a signal asks zklock to end.
pub fn ends_us(signal: Signal) -> bool {
    matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT)
}
