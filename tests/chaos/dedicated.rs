//! Faults that start a contender of their own, to meet it at the worst moment.

use crate::fault::Draw;
use crate::harness::Harness;
use crate::injector::{Injected, Undo};
use crate::proxies::{ANSWER, pass};
use crate::support::network::Network;
use crate::support::{Proxy, op, try_for};
use std::thread;
use std::time::Duration;

/// The session timeout of the contender that gets a late answer to its connect request, and the delay of the answer:
/// just short enough for the client to wait for it.
const LONG_SESSION: Duration = Duration::from_secs(10);
const LATE: Duration = Duration::from_millis(1050);
/// The session timeout of the contender on a slow line.
const SHORT_SESSION: Duration = Duration::from_secs(3);

impl Network {
    /// Begins a session on a follower, isolates the follower from its leader afterwards, and delays the answer to the
    /// client.
    pub(crate) fn late_connect(
        &self,
        harness: &Harness,
        host: usize,
        follower: usize,
        leader: usize,
    ) -> Option<Undo<'_>> {
        self.confine_and_settle(harness, host, follower);
        let link = self.links_to(follower, &[host]).next()?;
        link.delay_answers(LATE);
        let (connects, creates) = (link.count(op::CONNECT), link.count(op::CREATE));
        let within = |done: &dyn Fn() -> bool| try_for(LATE * 3, || done().then_some(())).is_some();
        let has_begun = harness.start_dedicated(LONG_SESSION, LONG_SESSION * 4 / 3)
            && within(&|| link.count(op::CONNECT) > connects);
        thread::sleep(ANSWER * 3);
        self.isolate(follower);
        if has_begun && within(&|| link.count(op::CREATE) > creates) {
            link.delay_answers(Duration::ZERO);
            thread::sleep(ANSWER);
            self.pulse(follower, leader);
        }
        Some(self.pass_peers_and_host(host))
    }

    /// Delays the line: its round trip is half of what is too slow for a session, or up to three times the limit.
    pub(crate) fn slow_connection(
        &self,
        harness: &Harness,
        draw: &Draw,
        hosts: &[usize],
    ) -> Option<Injected<'_>> {
        let limit = SHORT_SESSION / 15;
        let trip = limit / 2 + limit * u32::try_from(draw.choice % 250).expect("small") / 100;
        self.links(hosts).for_each(|link| link.delay(trip / 2));
        if !harness.start_dedicated(SHORT_SESSION, SHORT_SESSION * 2) {
            self.links(hosts).for_each(Proxy::pass);
            return None;
        }
        let target = format!("hosts {hosts:?}, {trip:?}");
        let hosts = hosts.to_vec();
        let undo = pass(move || self.links(&hosts).for_each(Proxy::pass));
        Some(Injected { target, undo: Some(undo) })
    }
}
