//! Signals that are sent to zklock, and the dispositions that it inherits.

mod each;
mod forwarded;
mod inherited;
mod single_child;
mod while_waiting;
