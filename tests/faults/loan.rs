//! Ensembles that are reused from test to test, because three servers take seconds to start.

use super::holder::{STEADY, confirmations};
use crate::support::network::{Network, ServerSettings};
use crate::support::{DEADLINE, wait_for, wait_until};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The servers' tick time in milliseconds.
pub(super) const TICK_MS: u32 = 250;

static IDLE: Mutex<Vec<(u32, Network)>> = Mutex::new(Vec::new());

/// A network that no other test uses. It is returned healed, unless the test failed.
pub(super) struct Loan {
    sync_limit: u32,
    network: Option<Network>,
    /// How many confirmations went through the first zone in earlier tests.
    confirmed_before: usize,
}

/// The holder's zone, and the next contender's.
const ZONES: usize = 2;

impl Loan {
    /// A network whose servers tolerate this many ticks of silence from each other.
    pub(super) fn take(sync_limit: u32) -> Self {
        let idle = {
            let mut idle = idle();
            let index = idle.iter().position(|(limit, _)| *limit == sync_limit);
            index.map(|index| idle.swap_remove(index).1)
        };
        let network =
            idle.unwrap_or_else(|| Network::start(ServerSettings { tick_ms: TICK_MS, sync_limit }, ZONES));
        let confirmed_before = confirmations(network.zone(0));
        let loan = Self { sync_limit, network: Some(network), confirmed_before };
        loan.wait_for_all();
        loan
    }

    /// The index of the leader; waits for an election in progress.
    #[track_caller]
    pub(super) fn wait_for_leader(&self) -> usize {
        wait_for("a leader", DEADLINE, || self.leader())
    }

    /// The index of a follower.
    #[track_caller]
    pub(super) fn a_follower(&self) -> usize {
        (self.wait_for_leader() + 1) % self.servers.len()
    }

    /// Waits until the lease of the holder in the first zone is in its steady state. The holder must be alone in that
    /// zone.
    #[track_caller]
    pub(super) fn wait_until_steady(&self) {
        let confirmed = || confirmations(self.zone(0)) - self.confirmed_before;
        wait_until("a steady rhythm", DEADLINE * 2, || confirmed() >= STEADY);
    }

    /// The index of the server that the client with this session is connected to; waits until it is connected.
    #[track_caller]
    pub(super) fn server_of(&self, session: i64) -> usize {
        let sid = format!("sid=0x{session:x},");
        let knows = |server: &crate::support::Server| {
            server.try_four_letter("cons").is_ok_and(|connections| connections.contains(&sid))
        };
        wait_for("the connection", DEADLINE, || self.servers.iter().position(knows))
    }

    /// Heals all faults, and waits until all servers serve clients.
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
        wait_until("a leader and two followers", DEADLINE, || {
            in_mode("leader") == 1 && in_mode("follower") == 2
        });
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
