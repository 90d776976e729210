//! What connects contenders and servers, and fails.

use crate::fault::Draw;
use crate::injector::{Injected, Injector};
use crate::support::Server;

/// The network of a run: proxies on one machine, or machines of their own.
pub(crate) trait Wires: Sync {
    fn servers(&self) -> &[Server];

    /// The connect string of an observer, whom no fault of the wires meets.
    fn direct(&self) -> String;

    /// Where contenders run.
    fn hosts(&self) -> Vec<Host>;

    /// Injects a fault of the network, if its target exists. `hosts`: those whose links it changes.
    fn inject<'a>(&'a self, injector: &Injector<'a>, draw: &Draw, hosts: &[usize]) -> Option<Injected<'a>>;
}

/// A host of contenders.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The value of `-z`.
    pub(crate) connect_string: String,
    /// The words before a command that runs there.
    pub(crate) words: Vec<String>,
}
