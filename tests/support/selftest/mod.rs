//! Tests of the harness itself. If the harness didn't really cause a fault, the tests of that fault would pass anyway.

mod ensemble;
mod history;
mod processes;
mod program;
mod proxy;
mod server;
mod terminal;
