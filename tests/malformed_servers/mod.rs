//! Servers that send what no ZooKeeper would send, or break off anywhere. zklock doesn't panic or hang, and above all runs
//! no command because of a crude lie.

mod answers;
mod attacked;
pub(crate) mod attacker;
mod closing;
mod cuts;
mod flood;
mod handshake;
mod old_server;
