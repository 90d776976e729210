//! Sizes, delays and limits. Times are in nanoseconds.

pub const MS: u64 = 1_000_000;

/// The settings of an ensemble.
#[derive(Debug, Clone)]
pub struct Config {
    /// The version of ZooKeeper that the servers play: its first two numbers. Since 3.6 a transaction of a session that
    /// has moved closes the connection.
    pub version: [u32; 2],
    /// 1, 3 or 5.
    pub servers: usize,
    /// How many groups of clients there are. Each has links of its own.
    pub zones: usize,
    pub seed: u64,
    pub tick: u64,
    /// How many ticks the leader and a follower tolerate each other's silence.
    pub sync_limit: u64,
    pub max_timeout_ms: i32,
    /// The delay between client and server in each direction, before jitter.
    pub client_delay: u64,
    pub client_jitter: u64,
    /// The delay between two servers, before jitter.
    pub peer_delay: u64,
    pub peer_jitter: u64,
    /// How long a write to disk takes.
    pub log_delay: u64,
    /// How long an election waits for votes.
    pub vote_wait: u64,
    /// How often the leader looks for empty containers.
    pub container_check: u64,
}

impl Config {
    pub fn new(servers: usize, seed: u64) -> Self {
        let tick = 200 * MS;
        Self {
            version: [3, 8],
            servers,
            zones: 1,
            seed,
            tick,
            sync_limit: 5,
            max_timeout_ms: 60_000,
            client_delay: MS / 5,
            client_jitter: MS / 5,
            peer_delay: MS / 5,
            peer_jitter: MS / 5,
            log_delay: MS / 2,
            vote_wait: 200 * MS,
            container_check: 60_000 * MS,
        }
    }

    pub(super) fn quorum(&self) -> u32 {
        u32::try_from(self.servers / 2 + 1).unwrap_or(u32::MAX)
    }

    /// The timeout granted to a session that asks for this one, in milliseconds.
    pub(super) fn granted(&self, asked_ms: i32) -> i32 {
        let least = i32::try_from(2 * self.tick / MS).unwrap_or(i32::MAX);
        asked_ms.max(least).min(self.max_timeout_ms)
    }
}

/// Converts a timeout to nanoseconds.
pub(super) fn nanos(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0) * MS
}
