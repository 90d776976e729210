//! Which server to try next and for how long, by the rules of `src/runtime/zk/retry.rs`, with randomness from a seed.

use super::message::ConnectFailure;
use crate::ensemble::Rng;

const SECOND: u64 = 1_000_000_000;
const FIRST_PAUSE: u64 = SECOND / 20;

/// The time limit of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    /// Limits the whole attempt.
    Quick(u64),
    Usual(u64),
    Patient(u64),
}

impl Limit {
    /// The time without an answer after which a server counts as silent.
    pub(super) fn span(self) -> u64 {
        let (Self::Quick(span) | Self::Usual(span) | Self::Patient(span)) = self;
        span
    }
}

#[derive(Debug)]
struct Silent {
    server: usize,
    times: u32,
    rests_until: u64,
}

#[derive(Debug)]
pub(super) struct RetryPlan {
    timeout: u64,
    quick: Option<u64>,
    is_slow: bool,
    are_all_silent: bool,
    silent: Vec<Silent>,
    pause: u64,
}

impl RetryPlan {
    pub(super) fn new(timeout: u64) -> Self {
        Self {
            timeout,
            quick: None,
            is_slow: false,
            are_all_silent: false,
            silent: vec![],
            pause: FIRST_PAUSE,
        }
    }

    pub(super) fn for_reconnection(timeout: u64, took: u64, is_slow: bool) -> Self {
        let quick = (timeout / 24).max(took * 2).min(timeout / 8);
        Self { quick: Some(quick), is_slow, ..Self::new(timeout) }
    }

    pub(super) fn pass(&mut self, mut servers: Vec<usize>, now: u64, rng: &mut Rng) -> Vec<usize> {
        self.are_all_silent = servers.iter().all(|server| self.times(*server) > 0);
        rng.shuffle(&mut servers);
        servers.sort_by_key(|server| self.times(*server));
        let rests = |server: usize| self.silence(server).is_some_and(|silent| silent.rests_until > now);
        if !servers.iter().all(|server| rests(*server)) {
            servers.retain(|server| !rests(*server));
        }
        servers
    }

    pub(super) fn limit(&self, server: usize) -> Limit {
        let usual = Limit::Usual(self.timeout / 8);
        let patient = Limit::Patient(self.timeout * 3 / 5);
        match (self.quick, self.times(server)) {
            _ if self.is_slow => patient,
            (Some(_), times) if times > 0 && times % 3 == 0 => usual,
            (Some(quick), _) => Limit::Quick(quick),
            (None, times) if self.are_all_silent && times % 2 == 1 => patient,
            (None, _) => usual,
        }
    }

    pub(super) fn failed(&mut self, server: usize, limit: Limit, took: u64, now: u64) {
        let times = self.times(server);
        self.silent.retain(|silent| silent.server != server);
        if took >= limit.span() {
            self.silent.push(Silent { server, times: times + 1, rests_until: now + took * 2 });
        }
    }

    pub(super) fn result(&self) -> ConnectFailure {
        if self.silent.is_empty() { ConnectFailure::Refused } else { ConnectFailure::Silent }
    }

    pub(super) fn pause(&mut self, rng: &mut Rng) -> u64 {
        let longest = if self.quick.is_some() { SECOND.min(self.timeout / 24) } else { SECOND };
        let pause = self.pause.min(longest);
        self.pause = pause * 2;
        pause * 3 / 4 + rng.below(pause / 2)
    }

    fn silence(&self, server: usize) -> Option<&Silent> {
        self.silent.iter().find(|silent| silent.server == server)
    }

    fn times(&self, server: usize) -> u32 {
        self.silence(server).map_or(0, |silent| silent.times)
    }
}
