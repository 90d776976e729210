//! Short scenes that run through a trait on the simulated ensemble and on real servers. The traces must be equal.
//!
//! | module | topic |
//! |---|---|
//! | [`ensemble`], [`client`] | the simulated servers, and a session of `zklock::ensemble` on them |
//! | [`play`] | the trace: the requests and what came of them, without what differs from run to run |
//! | [`simulated`], [`real`], [`jute`] | the two stages; the wire format of real servers |
//! | [`drawn`], [`sessions`], [`faults`], [`clients`] | the scenes |
//! | [`compared`] | the tests |
//!
//! The ensemble keeps virtual time, in nanoseconds. Each host has a clock of its own ([`client::HostClock`]), which may
//! run at a different rate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever started it")]
#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]

mod clients;
mod compared;
mod drawn;
mod faults;
mod jute;
mod play;
mod real;
mod sessions;
mod simulated;

use std::time::Duration;

use testkit as support;
use testkit::simulated::{client, ensemble};

use self::client::ClientEvent;
use self::client::message::{NodePath, Request};
use self::ensemble::wire::{Op, ToClient};

use self::play::Play;

/// The name of a scene, and the function that plays it.
type Scene = (&'static str, fn(&mut Play<'_>));

/// The next thing that arrives on a connection.
#[derive(Debug)]
enum Heard {
    Packet(ToClient),
    Closed,
    /// Nothing arrived in the given time.
    Silence,
}

/// The servers that a scene runs on. Clients are numbered. Each has its own zone of links, and one connection or
/// session at a time.
trait Stage {
    fn size(&self) -> usize;
    /// The stage's clock.
    fn now(&self) -> Duration;
    /// Waits until every server that should serve clients does so, and returns the leader.
    fn settle(&mut self) -> usize;

    /// Opens a connection and sends a connect request.
    fn connect(&mut self, who: usize, server: usize, session: i64, timeout_ms: i32);
    fn send(&mut self, who: usize, op: Op);
    fn hear(&mut self, who: usize, within: Duration) -> Heard;
    fn hang_up(&mut self, who: usize);

    /// Opens a session as zklock does, to any of these servers.
    fn open(&mut self, who: usize, servers: &[usize], timeout: Duration);
    fn ask(&mut self, who: usize, number: usize, request: Request);
    fn release(&mut self, who: usize, nodes: Vec<NodePath>);
    fn news(&mut self, who: usize, within: Duration) -> Option<ClientEvent>;

    /// Closes the connections from a zone to a server.
    fn cut(&mut self, zone: usize, server: usize);
    fn refuse(&mut self, zone: usize, server: usize, is_refusing: bool);
    fn set_hole(&mut self, zone: usize, server: usize, is_hole: bool);
    fn crash(&mut self, server: usize);
    fn restart(&mut self, server: usize);
    fn freeze(&mut self, server: usize);
    fn thaw(&mut self, server: usize);
    /// Cuts a server off from the others, except for votes.
    fn isolate(&mut self, server: usize, is_isolated: bool);
    /// Delays messages from the leader to a follower.
    fn delay_follower(&mut self, leader: usize, follower: usize, delay: Duration);
}

/// The number of clients in a scene, and of zones.
const CLIENTS: usize = 4;

/// The settings of the servers in every scene.
const TICK: Duration = Duration::from_millis(200);
const SYNC_LIMIT: u64 = 5;
const CONTAINER_CHECK: Duration = Duration::from_millis(500);
