//! The harness tested by itself: a fault that does not happen would let every test of it pass.

mod ensemble;
mod history;
mod processes;
mod program;
mod proxy;
mod server;
mod terminal;
