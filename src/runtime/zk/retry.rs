//! Decides which server to try next, for how long, and how long to pause between passes. Pure except for randomness.
//!
//! A server that refuses costs nothing. A silent server costs time, which the lease pays for: while the servers elect a
//! new leader, the old one may be frozen with its port open. Silent servers are therefore tried last, and not in every
//! pass.

use std::time::Duration;

use super::ConnectFailure;
use crate::core::hosts::Server;
use crate::core::time::BootTime;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The time limit of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptLimit {
    /// The whole attempt must be done in this time: at least twice what it took before.
    Quick(Duration),
    /// This much for the connection, and as much for the first answer: as long as a connected server may be silent.
    Usual(Duration),
    /// The same for a connection on which nothing else has worked. It is usually too slow for a lease, but the attempt
    /// allows zklock to report that.
    Patient(Duration),
}

/// The state of the attempts to open a session or to reconnect to it: which servers were silent, and the next pause.
#[derive(Debug)]
pub(super) struct RetryPlan {
    timeout: Duration,
    /// For a session that has begun and may have a lease to keep: how long to wait for servers that may be frozen.
    quick: Option<Duration>,
    /// Whether the connection is known to need patient attempts.
    slow: bool,
    /// Whether no server has answered.
    all_silent: bool,
    silent: Vec<Silent>,
    pause: Duration,
}

#[derive(Debug)]
struct Silent {
    server: Server,
    /// How often it was silent in a row.
    times: u32,
    /// Until this time other servers are tried first.
    rests_until: BootTime,
}

impl RetryPlan {
    /// The attempts to open a new session with this timeout.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, quick: None, slow: false, all_silent: false, silent: vec![], pause: FIRST_PAUSE }
    }

    /// The attempts to reconnect to a session whose connection took this long to establish before; `slow` if that was a
    /// [patient](AttemptLimit::Patient) attempt.
    pub(super) fn for_reconnection(timeout: Duration, took: Duration, slow: bool) -> Self {
        let quick = (timeout / 24).max(took * 2).min(timeout / 8);
        Self { quick: Some(quick), slow, ..Self::new(timeout) }
    }

    /// The servers of the next pass, in the order in which to try them: all of them, unless some rest.
    pub(super) fn pass(&mut self, mut servers: Vec<Server>, now: BootTime) -> Vec<Server> {
        self.all_silent = servers.iter().all(|server| self.times(server) > 0);
        fastrand::shuffle(&mut servers);
        servers.sort_by_key(|server| self.times(server));
        let rests = |server: &Server| self.silence(server).is_some_and(|silent| silent.rests_until > now);
        if !servers.iter().all(rests) {
            servers.retain(|server| !rests(server));
        }
        servers
    }

    /// How long to try this server.
    pub(super) fn limit(&self, server: &Server) -> AttemptLimit {
        // Measured with T = 9 s and 24 clients: giving a silent server up after T/4 leaves gaps of up to 5.8 s when a
        // follower freezes, T/8 of 2.4 s.
        let usual = AttemptLimit::Usual(self.timeout / 8);
        // The library accepts no more than this.
        let patient = AttemptLimit::Patient(self.timeout * 3 / 5);
        match (self.quick, self.times(server)) {
            _ if self.slow => patient,
            // A server that is slow only once gets the usual time now and then.
            (Some(_), times) if times > 0 && times % 3 == 0 => usual,
            (Some(quick), _) => AttemptLimit::Quick(quick),
            // Only every second time: the system resends a lost packet after 1, 3 and 7 s, and a new attempt sends one
            // immediately.
            (None, times) if self.all_silent && times % 2 == 1 => patient,
            (None, _) => usual,
        }
    }

    /// Records that the server gave no session within this time.
    pub(super) fn failed(&mut self, server: &Server, limit: AttemptLimit, took: Duration, now: BootTime) {
        let times = self.times(server);
        self.silent.retain(|silent| silent.server != *server);
        let (AttemptLimit::Quick(limit) | AttemptLimit::Usual(limit) | AttemptLimit::Patient(limit)) = limit;
        if took >= limit {
            let rests_until = now + took * 2;
            self.silent.push(Silent { server: server.clone(), times: times + 1, rests_until });
        }
    }

    /// How the servers reacted.
    pub(super) fn result(&self) -> ConnectFailure {
        if self.silent.is_empty() { ConnectFailure::Refused } else { ConnectFailure::Silent }
    }

    /// How long to wait before the next pass.
    pub(super) fn pause(&mut self) -> Duration {
        let longest = if self.quick.is_some() { LONGEST_PAUSE.min(self.timeout / 24) } else { LONGEST_PAUSE };
        let pause = self.pause.min(longest);
        self.pause = pause * 2;
        // Spread out, because thousands of clients may have lost the same server at the same moment.
        pause.mul_f64(0.75 + fastrand::f64() / 2.0)
    }

    fn silence(&self, server: &Server) -> Option<&Silent> {
        self.silent.iter().find(|silent| silent.server == *server)
    }

    fn times(&self, server: &Server) -> u32 {
        self.silence(server).map_or(0, |silent| silent.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_secs(24);
    const QUICKLY: Duration = Duration::from_millis(3);

    fn servers(names: &[&str]) -> Vec<Server> {
        names.iter().map(|name| Server { host: (*name).to_owned(), port: 1 }).collect()
    }

    fn names(servers: &[Server]) -> Vec<&str> {
        servers.iter().map(|server| server.host.as_str()).collect()
    }

    fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn every_server_is_tried_in_random_order() {
        let mut retry = RetryPlan::for_reconnection(T, QUICKLY, false);
        let mut firsts: Vec<String> = vec![];
        for _ in 0..200 {
            let pass = retry.pass(servers(&["a", "b", "c"]), at(0));
            let mut sorted = names(&pass);
            firsts.extend(sorted.first().map(|&name| name.to_owned()));
            sorted.sort_unstable();
            assert_eq!(sorted, ["a", "b", "c"]);
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts, ["a", "b", "c"]);
    }

    #[test]
    fn a_silent_server_rests_and_is_tried_last() {
        let mut retry = RetryPlan::for_reconnection(T, QUICKLY, false);
        let all = servers(&["a", "b"]);
        let limit = retry.limit(&all[0]);
        assert_eq!(limit, AttemptLimit::Quick(Duration::from_secs(1)));
        retry.failed(&all[0], limit, Duration::from_secs(1), at(1));
        retry.failed(&all[1], retry.limit(&all[1]), Duration::ZERO, at(1));
        for _ in 0..20 {
            assert_eq!(names(&retry.pass(all.clone(), at(2))), ["b"]);
            assert_eq!(names(&retry.pass(all.clone(), at(3))), ["b", "a"]);
        }
        retry.failed(&all[0], limit, Duration::from_secs(1), at(4));
        retry.failed(&all[0], limit, Duration::from_secs(1), at(5));
        let limit = retry.limit(&all[0]);
        assert_eq!(limit, AttemptLimit::Usual(Duration::from_secs(3)), "a server may be slow only once");
        retry.failed(&all[0], limit, Duration::from_millis(1), at(6));
        assert_eq!(
            retry.limit(&all[0]),
            AttemptLimit::Quick(Duration::from_secs(1)),
            "a server that has answered isn't silent any more"
        );
    }

    #[test]
    fn a_reconnection_gets_twice_the_time_that_connecting_took() {
        let limit = |took| {
            RetryPlan::for_reconnection(T, Duration::from_millis(took), false).limit(&servers(&["a"])[0])
        };
        assert_eq!(limit(700), AttemptLimit::Quick(Duration::from_millis(1_400)));
        assert_eq!(limit(5_000), AttemptLimit::Quick(T / 8));
    }

    #[test]
    fn no_server_rests_if_all_are_silent() {
        let mut retry = RetryPlan::for_reconnection(T, QUICKLY, false);
        let all = servers(&["a", "b"]);
        for server in &all {
            retry.failed(server, retry.limit(server), Duration::from_secs(1), at(1));
        }
        assert_eq!(retry.pass(all, at(1)).len(), 2);
    }

    #[test]
    fn a_new_session_on_a_slow_connection_gets_more_time_every_second_attempt() {
        let mut retry = RetryPlan::new(T);
        let all = servers(&["a"]);
        let limits = std::iter::repeat_with(|| {
            retry.pass(all.clone(), at(0));
            let limit = retry.limit(&all[0]);
            retry.failed(&all[0], limit, T, at(1));
            limit
        });
        let usual = AttemptLimit::Usual(T / 8);
        let patient = AttemptLimit::Patient(T * 3 / 5);
        assert_eq!(limits.take(4).collect::<Vec<_>>(), [usual, patient, usual, patient]);
        retry.pass(servers(&["a", "b"]), at(0));
        assert_eq!(retry.limit(&all[0]), usual, "the other server may answer");
        assert_eq!(RetryPlan::for_reconnection(T, QUICKLY, true).limit(&all[0]), patient);
    }

    #[test]
    fn pauses_grow_to_a_second_or_less_with_a_lease_to_keep() {
        for (mut retry, longest) in
            [(RetryPlan::new(T), 1.0), (RetryPlan::for_reconnection(T / 2, QUICKLY, false), 0.5)]
        {
            let pauses: Vec<f64> = (0..10).map(|_| retry.pause().as_secs_f64()).collect();
            assert!(pauses[0] <= 0.0625 && pauses[9] >= 0.75 * longest, "{pauses:?}");
            assert!(pauses.iter().all(|pause| *pause <= 1.25 * longest), "{pauses:?}");
        }
    }
}
