//! Faults that start a contender of their own, to meet it at the worst moment.

use crate::fault::Draw;
use crate::injection::ANSWER;
use crate::injector::{Injected, Injector, Undo};
use crate::support::{Proxy, op, try_for};
use std::thread;
use std::time::Duration;

/// The session timeout of the contender that gets a late answer to its connect request, and the delay of the answer:
/// just short enough for the client to wait for it.
const LONG_SESSION: Duration = Duration::from_secs(10);
const LATE: Duration = Duration::from_millis(1050);
/// The session timeout of the contender on a slow line.
const SHORT_SESSION: Duration = Duration::from_secs(3);

impl Injector<'_> {
    /// Begins a session on a follower, isolates the follower from its leader afterwards, and delays the answer to the
    /// client.
    pub(crate) fn late_connect(&self, host: usize, follower: usize, leader: usize) -> Option<Undo> {
        self.confine(host, follower);
        let link = self.network.links_to(follower, &[host]).next()?;
        link.delay_answers(LATE);
        let (connects, creates) = (link.count(op::CONNECT), link.count(op::CREATE));
        let within = |done: &dyn Fn() -> bool| try_for(LATE * 3, || done().then_some(())).is_some();
        let has_begun = self.harness.start_dedicated(LONG_SESSION, LONG_SESSION * 4 / 3)
            && within(&|| link.count(op::CONNECT) > connects);
        thread::sleep(ANSWER * 3);
        self.network.isolate(follower);
        if has_begun && within(&|| link.count(op::CREATE) > creates) {
            link.delay_answers(Duration::ZERO);
            thread::sleep(ANSWER);
            self.network.pulse(follower, leader);
        }
        Some(Undo::PassPeersAndHost(host))
    }

    /// Delays the line: its round trip is half of what is too slow for a session, or up to three times the limit.
    pub(crate) fn slow_connection(&self, draw: &Draw, hosts: &[usize]) -> Option<Injected> {
        let limit = SHORT_SESSION / 15;
        let trip = limit / 2 + limit * u32::try_from(draw.choice % 250).expect("small") / 100;
        self.network.links(hosts).for_each(|link| link.delay(trip / 2));
        if !self.harness.start_dedicated(SHORT_SESSION, SHORT_SESSION * 2) {
            self.network.links(hosts).for_each(Proxy::pass);
            return None;
        }
        Some(Injected {
            target: format!("hosts {hosts:?}, {trip:?}"),
            undo: Some(Undo::PassHosts(hosts.to_vec())),
        })
    }
}
