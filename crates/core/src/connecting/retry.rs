//! Decides which server to try next, for how long, and how long to pause between passes.
//!
//! A server that refuses costs nothing. A silent server costs time, which the lease pays for: while the servers elect a
//! new leader, the old one may be frozen with its port open. Silent servers are therefore tried last, and not in every
//! pass.

use std::time::Duration;

use super::ConnectSpeed;
use crate::protocol::ConnectFailure;
use crate::time::BootTime;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The time limit of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptLimit {
    /// The whole attempt must be done in this time: at least twice what it took before.
    Quick(Duration),
    /// This much for the connection, and as much for the first answer: as long as a connected server may be silent.
    Usual(Duration),
    /// The same for a connection on which nothing else has worked. It is usually too slow for a lease, but the attempt
    /// allows zklock to report that.
    Patient(Duration),
}

impl AttemptLimit {
    /// The limit for the whole attempt, if there is one.
    pub fn whole(self) -> Option<Duration> {
        if let Self::Quick(all) = self { Some(all) } else { None }
    }

    /// How long the server may be silent during the attempt, for a session with this timeout.
    pub fn silence(self, timeout: Duration) -> Duration {
        match self {
            Self::Quick(_) => timeout / 8,
            Self::Usual(silence) | Self::Patient(silence) => silence,
        }
    }

    /// A server that failed after this time was silent. One that failed sooner refused.
    fn refused_before(self) -> Duration {
        let (Self::Quick(limit) | Self::Usual(limit) | Self::Patient(limit)) = self;
        limit
    }
}

/// The state of the attempts to open a session or to reconnect to it: which servers were silent, and the next pause.
///
/// Servers are distinguished by `S`. Randomness comes from the caller: `random(bound)` is a number below the bound.
#[derive(Debug)]
pub struct RetryPlan<S> {
    timeout: Duration,
    /// For a session that has begun and may have a lease to keep: how long to wait for servers that may be frozen.
    quick: Option<Duration>,
    /// Whether the connection is known to need patient attempts.
    slow: bool,
    /// Whether no server has answered.
    all_silent: bool,
    silent: Vec<Silent<S>>,
    pause: Duration,
}

#[derive(Debug)]
struct Silent<S> {
    server: S,
    /// How often it was silent in a row.
    times: u32,
    /// Until this time other servers are tried first.
    rests_until: BootTime,
}

impl<S: Clone + PartialEq> RetryPlan<S> {
    /// The attempts to open a new session with this timeout.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, quick: None, slow: false, all_silent: false, silent: vec![], pause: FIRST_PAUSE }
    }

    /// The attempts to reconnect to a session whose connections took this long to establish.
    pub fn for_reconnection(timeout: Duration, speed: ConnectSpeed) -> Self {
        let quick = (timeout / 24).max(speed.took * 2).min(timeout / 8);
        Self { quick: Some(quick), slow: speed.slow, ..Self::new(timeout) }
    }

    /// Whether to use a new session that was granted this timeout over a connection of this speed. If not, it is closed,
    /// and another one requests the granted timeout.
    ///
    /// The client library derives how long it tolerates a silent server from the requested timeout, and also from the
    /// time that the attempt was given, which is too long if the connection turns out to be fast.
    pub fn accepts(&self, granted: Duration, speed: ConnectSpeed) -> bool {
        granted == self.timeout && !speed.is_patient_in_vain()
    }

    /// The servers of the next pass, in the order in which to try them: all of them, unless some rest.
    pub fn pass(
        &mut self,
        mut servers: Vec<S>,
        now: BootTime,
        random: &mut impl FnMut(usize) -> usize,
    ) -> Vec<S> {
        self.all_silent = servers.iter().all(|server| self.times(server) > 0);
        for last in (1..servers.len()).rev() {
            servers.swap(last, random(last + 1));
        }
        servers.sort_by_key(|server| self.times(server));
        let rests = |server: &S| self.silence(server).is_some_and(|silent| silent.rests_until > now);
        if !servers.iter().all(rests) {
            servers.retain(|server| !rests(server));
        }
        servers
    }

    /// How long to try this server.
    pub fn limit(&self, server: &S) -> AttemptLimit {
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
    pub fn failed(&mut self, server: &S, limit: AttemptLimit, took: Duration, now: BootTime) {
        let times = self.times(server);
        self.silent.retain(|silent| silent.server != *server);
        if took >= limit.refused_before() {
            // The longest attempt takes twice its limit. The time also counts for how long the host has slept.
            let rests_until = now + took.min(limit.refused_before() * 2) * 2;
            self.silent.push(Silent { server: server.clone(), times: times + 1, rests_until });
        }
    }

    /// How the servers reacted.
    pub fn result(&self) -> ConnectFailure {
        if self.silent.is_empty() { ConnectFailure::Refused } else { ConnectFailure::Silent }
    }

    /// How long to wait before the next pass.
    pub fn pause(&mut self, random: &mut impl FnMut(usize) -> usize) -> Duration {
        let longest = if self.quick.is_some() { LONGEST_PAUSE.min(self.timeout / 24) } else { LONGEST_PAUSE };
        let pause = self.pause.min(longest);
        self.pause = pause * 2;
        // Spread out, because thousands of clients may have lost the same server at the same moment.
        let nanos = random((pause / 2).as_nanos().try_into().unwrap_or(usize::MAX));
        pause * 3 / 4 + Duration::from_nanos(nanos as u64)
    }

    fn silence(&self, server: &S) -> Option<&Silent<S>> {
        self.silent.iter().find(|silent| silent.server == *server)
    }

    fn times(&self, server: &S) -> u32 {
        self.silence(server).map_or(0, |silent| silent.times)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const T: Duration = Duration::from_secs(24);
    const QUICKLY: Duration = Duration::from_millis(3);

    /// A reconnection after a connection that took this long.
    fn reconnection(took: Duration) -> RetryPlan<&'static str> {
        let limit = AttemptLimit::Usual(T / 8);
        RetryPlan::for_reconnection(T, ConnectSpeed::of(took, limit, T))
    }

    fn random() -> impl FnMut(usize) -> usize {
        let mut random = fastrand::Rng::with_seed(1);
        move |bound| random.usize(..bound)
    }

    fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn every_server_is_tried_in_random_order() {
        let (mut retry, mut random) = (reconnection(QUICKLY), random());
        let mut orders = HashMap::new();
        for _ in 0..600 {
            *orders.entry(retry.pass(vec!["a", "b", "c"], at(0), &mut random)).or_insert(0) += 1;
        }
        assert!(orders.len() == 6 && orders.values().all(|times| (50..150).contains(times)), "{orders:?}");
    }

    #[test]
    fn a_silent_server_rests_and_is_tried_last() {
        let mut retry = reconnection(QUICKLY);
        let all = ["a", "b"];
        let limit = retry.limit(&all[0]);
        assert_eq!(limit, AttemptLimit::Quick(Duration::from_secs(1)));
        retry.failed(&all[0], limit, Duration::from_secs(1), at(1));
        retry.failed(&all[1], retry.limit(&all[1]), Duration::ZERO, at(1));
        for _ in 0..20 {
            assert_eq!(retry.pass(all.to_vec(), at(2), &mut random()), ["b"]);
            assert_eq!(retry.pass(all.to_vec(), at(3), &mut random()), ["b", "a"]);
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
        let limit = |took| reconnection(Duration::from_millis(took)).limit(&"a");
        assert_eq!(limit(700), AttemptLimit::Quick(Duration::from_millis(1_400)));
        assert_eq!(limit(5_000), AttemptLimit::Quick(T / 8));
    }

    /// The clock counts the time for which the host sleeps, which says nothing about the server.
    #[test]
    fn a_server_does_not_rest_for_longer_because_the_host_slept() {
        let mut retry = RetryPlan::new(T);
        let limit = retry.limit(&"a");
        retry.failed(&"a", limit, Duration::from_hours(1), at(3600));
        assert_eq!(retry.pass(vec!["a", "b"], at(3600 + 11), &mut random()), ["b"]);
        assert_eq!(retry.pass(vec!["a", "b"], at(3600 + 12), &mut random()), ["b", "a"]);
    }

    #[test]
    fn no_server_rests_if_all_are_silent() {
        let mut retry = reconnection(QUICKLY);
        let all = ["a", "b"];
        for server in &all {
            retry.failed(server, retry.limit(server), Duration::from_secs(1), at(1));
        }
        assert_eq!(retry.pass(all.to_vec(), at(1), &mut random()).len(), 2);
    }

    #[test]
    fn a_new_session_on_a_slow_connection_gets_more_time_every_second_attempt() {
        let mut retry = RetryPlan::new(T);
        let all = ["a"];
        let limits = std::iter::repeat_with(|| {
            retry.pass(all.to_vec(), at(0), &mut random());
            let limit = retry.limit(&all[0]);
            retry.failed(&all[0], limit, T, at(1));
            limit
        });
        let usual = AttemptLimit::Usual(T / 8);
        let patient = AttemptLimit::Patient(T * 3 / 5);
        assert_eq!(limits.take(5).collect::<Vec<_>>(), [usual, patient, usual, patient, usual]);
        retry.pass(vec!["a", "b"], at(0), &mut random());
        assert_eq!(retry.limit(&all[0]), usual, "the other server may answer");
        let slow = ConnectSpeed::of(T / 7, patient, T);
        assert_eq!(RetryPlan::for_reconnection(T, slow).limit(&all[0]), patient);
    }

    #[test]
    fn pauses_grow_to_a_second_or_less_with_a_lease_to_keep() {
        let with_lease = RetryPlan { timeout: T / 2, ..reconnection(QUICKLY) };
        for (mut retry, longest) in [(RetryPlan::new(T), 1.0), (with_lease, 0.5)] {
            let mut random = random();
            let pauses: Vec<f64> = (0..10).map(|_| retry.pause(&mut random).as_secs_f64()).collect();
            assert!((0.0375..=0.0625).contains(&pauses[0]) && pauses[9] >= 0.75 * longest, "{pauses:?}");
            assert!(pauses.iter().all(|pause| *pause <= 1.25 * longest), "{pauses:?}");
        }
    }

    #[test]
    fn a_session_is_used_if_it_has_the_requested_timeout_and_no_more_patience_than_it_needs() {
        let retry: RetryPlan<()> = RetryPlan::new(T);
        let (usual, patient) = (AttemptLimit::Usual(T / 8), AttemptLimit::Patient(T * 3 / 5));
        assert!(retry.accepts(T, ConnectSpeed::of(QUICKLY, usual, T)));
        assert!(retry.accepts(T, ConnectSpeed::of(T / 2, patient, T)));
        assert!(!retry.accepts(T, ConnectSpeed::of(QUICKLY, patient, T)));
        assert!(!retry.accepts(T / 2, ConnectSpeed::of(QUICKLY, usual, T)));
    }

    #[test]
    fn an_attempt_tolerates_a_silence_and_only_a_quick_one_has_a_limit_as_a_whole() {
        for (limit, silence, whole) in [
            (AttemptLimit::Quick(QUICKLY), T / 8, Some(QUICKLY)),
            (AttemptLimit::Usual(T / 9), T / 9, None),
            (AttemptLimit::Patient(T / 2), T / 2, None),
        ] {
            assert_eq!((limit.silence(T), limit.whole()), (silence, whole));
        }
    }
}
