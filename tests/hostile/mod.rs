//! Servers and neighbours that mean harm. No panic, no hang, nothing of theirs raw on the terminal, and above
//! all no command that runs because somebody lied badly.

mod answers;
mod attacked;
mod attacker;
mod connections;
mod crowd;
mod crowds;
mod cuts;
mod cutter;
mod disk;
mod flood;
mod handshake;
mod memory;
mod neighbours;
mod old_server;
mod throttled;
mod wire;
