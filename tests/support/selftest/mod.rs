//! Tests of the harness itself: if a fault didn't happen, every test of that fault would pass.

mod ensemble;
mod history;
mod processes;
mod program;
mod proxy;
mod server;
mod terminal;
