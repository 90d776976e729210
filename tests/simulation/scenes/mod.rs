//! Short stories, told once against a trait: to the simulated ensemble and to real servers. Their traces must be equal.
//!
//! | module | what it is about |
//! |---|---|
//! | [`play`] | the trace: what was asked and what came of it, without what differs from run to run |
//! | [`simulated`], [`real`], [`jute`] | the two stages; the wire format of real servers |
//! | [`nodes`], [`watches`], [`sessions`], [`faults`], [`clients`] | the stories |
//! | [`compared`] | the tests |

mod clients;
mod compared;
mod faults;
mod jute;
mod nodes;
mod play;
mod real;
mod sessions;
mod simulated;
mod watches;

use std::time::Duration;

use crate::client::News;
use crate::client::message::{NodePath, Request};
use crate::ensemble::wire::{Op, ToClient};

use self::play::Play;

/// A story, and its name.
type Scene = (&'static str, fn(&mut Play<'_>));

/// What comes over a connection.
#[derive(Debug)]
enum Heard {
    Packet(ToClient),
    Closed,
    /// Nothing, in the time that was given.
    Silence,
}

/// Where a story is told. Clients are numbered; each has links of its own zone, and one connection or session at a time.
trait Stage {
    fn size(&self) -> usize;
    /// What tells the time.
    fn now(&self) -> Duration;
    /// Waits until every server that should be serves clients, and says who leads.
    fn settle(&mut self) -> usize;

    /// A connection, and the connect request on it. With a bad password if that is wanted.
    fn connect(
        &mut self,
        who: usize,
        server: usize,
        session: i64,
        timeout_ms: i32,
        last_zxid: i64,
        is_good: bool,
    );
    fn send(&mut self, who: usize, op: Op);
    fn hear(&mut self, who: usize, within: Duration) -> Heard;
    fn hang_up(&mut self, who: usize);

    /// A session as zklock has it, to any of these servers.
    fn open(&mut self, who: usize, servers: &[usize], timeout: Duration);
    fn ask(&mut self, who: usize, number: usize, request: Request);
    fn release(&mut self, who: usize, nodes: Vec<NodePath>);
    fn news(&mut self, who: usize, within: Duration) -> Option<News>;

    /// Ends the connections from a zone to a server.
    fn cut(&mut self, zone: usize, server: usize);
    fn refuse(&mut self, zone: usize, server: usize, is_refusing: bool);
    fn set_hole(&mut self, zone: usize, server: usize, is_hole: bool);
    fn crash(&mut self, server: usize);
    fn restart(&mut self, server: usize);
    fn freeze(&mut self, server: usize);
    fn thaw(&mut self, server: usize);
    /// Cuts a server off from the others, except for votes.
    fn isolate(&mut self, server: usize, is_isolated: bool);
    /// Delays what the leader says to a follower.
    fn delay_follower(&mut self, leader: usize, follower: usize, delay: Duration);
}

/// Clients of a story, and zones.
const CLIENTS: usize = 4;

/// What the servers of every story are set up with.
const TICK: Duration = Duration::from_millis(200);
const SYNC_LIMIT: u64 = 5;
const CONTAINER_CHECK: Duration = Duration::from_millis(500);
