//! Signals that somebody sends to zklock, and those that it was started with.

mod inherited;
mod passed_on;
mod while_waiting;
