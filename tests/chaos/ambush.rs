//! Faults that meet a contender which is there for nothing else, at the moment that is the worst for it.

use crate::fault::Draw;
use crate::storm::{Storm, Strike, Undo};
use crate::strike::ANSWER;
use crate::support::{Proxy, op, try_for};
use std::thread;
use std::time::Duration;

/// The session timeout of whoever is to meet a late answer to its connect request, and how late that is: just early
/// enough to be waited for.
const LONG_SESSION: Duration = Duration::from_secs(10);
const LATE: Duration = Duration::from_millis(1050);
/// That of whoever is to meet a slow line.
const SHORT_SESSION: Duration = Duration::from_secs(3);

impl Storm<'_> {
    /// A session that begins on a follower whose leader hears nothing of it afterwards, and whose client hears of it late.
    pub(crate) fn late_connect(&self, host: usize, follower: usize, leader: usize) -> Option<Undo> {
        self.confine(host, follower);
        let link = self.network.links_to(follower, &[host]).next()?;
        link.delay_answers(LATE);
        let (connects, creates) = (link.count(op::CONNECT), link.count(op::CREATE));
        let within = |done: &dyn Fn() -> bool| try_for(LATE * 3, || done().then_some(())).is_some();
        let begins = self.arena.bait(LONG_SESSION, LONG_SESSION * 4 / 3)
            && within(&|| link.count(op::CONNECT) > connects);
        thread::sleep(ANSWER * 3);
        self.network.isolate(follower);
        if begins && within(&|| link.count(op::CREATE) > creates) {
            link.delay_answers(Duration::ZERO);
            thread::sleep(ANSWER);
            self.network.pulse(follower, leader);
        }
        Some(Undo::PassPeersAndHost(host))
    }

    /// A line whose round trip is half of what is too slow for a session, or up to three times as much.
    pub(crate) fn slow_line(&self, draw: &Draw, hosts: &[usize]) -> Option<Strike> {
        let limit = SHORT_SESSION / 15;
        let trip = limit / 2 + limit * u32::try_from(draw.dice % 250).expect("small") / 100;
        self.network.links(hosts).for_each(|link| link.delay(trip / 2));
        if !self.arena.bait(SHORT_SESSION, SHORT_SESSION * 2) {
            self.network.links(hosts).for_each(Proxy::pass);
            return None;
        }
        Some(Strike {
            whom: format!("hosts {hosts:?}, {trip:?}"),
            undo: Some(Undo::PassHosts(hosts.to_vec())),
        })
    }
}
