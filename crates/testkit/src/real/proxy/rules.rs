//! The proxy's current settings and counters, shared by all its threads.

use super::At;
use super::link::Link;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The direction of a packet.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    ToServer,
    ToClient,
}

/// A fault at one request of a kind.
pub(super) struct Rule {
    pub(super) ops: &'static [i32],
    /// How many requests of the kind pass first.
    pub(super) skip: usize,
    pub(super) at: At,
}

/// The state that a test sets and reads.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(super) struct Rules {
    pub(super) hole_to_server: bool,
    pub(super) hole_to_client: bool,
    pub(super) delay: Duration,
    /// An additional delay for answers and events.
    pub(super) delay_to_client: Duration,
    pub(super) refusing: bool,
    pub(super) listening: bool,
    pub(super) ended: bool,
    /// Whether the stream carries another protocol than the client protocol.
    pub(super) raw: bool,
    pub(super) once: Vec<Rule>,
    /// The first so many connections end after so many bytes from the server.
    pub(super) cuts: (usize, usize),
    /// How many bytes the server sent on the first connection.
    pub(super) passed: usize,
    /// How many rules have been carried out.
    pub(super) fired: usize,
    /// Whether a request is being held.
    pub(super) holding: bool,
    pub(super) requests: HashMap<i32, usize>,
    /// How many requests were answered, with the answer forwarded to the client.
    pub(super) answers: HashMap<i32, usize>,
    pub(super) events: usize,
    pub(super) accepted: usize,
    pub(super) links: Vec<Arc<Link>>,
}

/// The rules, and a condition variable that is notified when they change.
#[derive(Default)]
pub(super) struct Shared {
    rules: Mutex<Rules>,
    changed: Condvar,
}

impl Shared {
    pub(super) fn look(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the rules, and wakes every thread that waits for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Rules) -> T) -> T {
        let answer = change(&mut self.look());
        self.changed.notify_all();
        answer
    }

    /// Waits while `unwanted` is true of the rules.
    pub(super) fn wait_while(&self, unwanted: impl Fn(&Rules) -> bool) {
        let mut rules = self.look();
        while unwanted(&rules) {
            rules = self.changed.wait(rules).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until a packet that came at `arrival` may be forwarded; returns false if its connection was cut meanwhile.
    pub(super) fn wait_for_passage(&self, way: Way, arrival: Instant, link: &Link) -> bool {
        let mut rules = self.look();
        loop {
            if rules.ended || link.is_cut() {
                return false;
            }
            let (hole, delay) = match way {
                Way::ToServer => (rules.hole_to_server, rules.delay),
                Way::ToClient => (rules.hole_to_client, rules.delay + rules.delay_to_client),
            };
            let left = (arrival + delay).saturating_duration_since(Instant::now());
            if !hole && left.is_zero() {
                return true;
            }
            // The end of a black hole notifies the condition variable. The end of a delay doesn't, so it is timed.
            let nap = if hole { Duration::from_secs(1) } else { left };
            (rules, _) = self.changed.wait_timeout(rules, nap).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts a request and takes the rule that is due, if any.
    pub(super) fn take_rule(&self, op: i32) -> Option<At> {
        self.change(|rules| {
            *rules.requests.entry(op).or_default() += 1;
            let index = rules.once.iter().position(|rule| rule.ops.contains(&op))?;
            if rules.once[index].skip > 0 {
                rules.once[index].skip -= 1;
                return None;
            }
            let at = rules.once.remove(index).at;
            rules.holding |= at == At::Hold;
            // A cut before the reply is counted when the reply arrives.
            rules.fired += usize::from(at != At::BeforeReply);
            Some(at)
        })
    }
}
