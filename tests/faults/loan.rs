//! Ensembles that go from test to test: three servers take seconds to start.

use super::holder::{STEADY, confirmations};
use crate::support::network::{Ensemble, Network};
use crate::support::{SOON, wait_for, wait_until};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The unit of the servers' time.
pub(super) const TICK_MS: u32 = 250;

static IDLE: Mutex<Vec<(u32, Network)>> = Mutex::new(Vec::new());

/// A network that nobody else uses. It goes back healed, unless the test failed.
pub(super) struct Loan {
    sync_limit: u32,
    network: Option<Network>,
    /// What went through the first zone in other tests.
    confirmed_before: usize,
}

/// The holder's, and the next one's.
const ZONES: usize = 2;

impl Loan {
    /// One whose servers bear each other's silence for so many ticks.
    pub(super) fn take(sync_limit: u32) -> Self {
        let idle = {
            let mut idle = idle();
            let index = idle.iter().position(|(limit, _)| *limit == sync_limit);
            index.map(|index| idle.swap_remove(index).1)
        };
        let network =
            idle.unwrap_or_else(|| Network::start(Ensemble { tick_ms: TICK_MS, sync_limit }, ZONES));
        let confirmed_before = confirmations(network.zone(0));
        let loan = Self { sync_limit, network: Some(network), confirmed_before };
        loan.wait_for_all();
        loan
    }

    /// Which server leads; waits for an election that is under way.
    #[track_caller]
    pub(super) fn wait_for_leader(&self) -> usize {
        wait_for("a leader", SOON, || self.leader())
    }

    /// A server that follows.
    #[track_caller]
    pub(super) fn a_follower(&self) -> usize {
        (self.wait_for_leader() + 1) % self.servers.len()
    }

    /// Waits until a holder in the first zone, where nobody else is, has a lease of steady rhythm.
    #[track_caller]
    pub(super) fn wait_until_steady(&self) {
        let confirmed = || confirmations(self.zone(0)) - self.confirmed_before;
        wait_until("a steady rhythm", SOON * 2, || confirmed() >= STEADY);
    }

    /// Which server the owner of a session is connected to; waits until it is to one.
    #[track_caller]
    pub(super) fn server_of(&self, session: i64) -> usize {
        let sid = format!("sid=0x{session:x},");
        let knows = |server: &crate::support::Server| {
            server.try_four_letter("cons").is_ok_and(|connections| connections.contains(&sid))
        };
        wait_for("the connection", SOON, || self.servers.iter().position(knows))
    }

    /// Nothing is wrong any more, and all servers serve.
    pub(super) fn heal(&self) {
        self.undo();
        self.wait_for_all();
    }

    fn undo(&self) {
        self.pass_peers();
        (0..ZONES).for_each(|zone| self.pass_zone(zone));
        for server in &self.servers {
            match server.pid() {
                Some(_) => server.thaw(),
                None => server.relaunch(),
            }
        }
    }

    fn wait_for_all(&self) {
        let in_mode =
            |mode: &str| self.servers.iter().filter(|server| server.mode().as_deref() == Some(mode)).count();
        wait_until("a leader and two followers", SOON, || in_mode("leader") == 1 && in_mode("follower") == 2);
    }
}

impl Deref for Loan {
    type Target = Network;

    fn deref(&self) -> &Network {
        self.network.as_ref().expect("it is ours until the drop")
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.undo();
            idle().extend(self.network.take().map(|network| (self.sync_limit, network)));
        }
    }
}

fn idle() -> MutexGuard<'static, Vec<(u32, Network)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}
