//! Signals that are sent to zklock, and the dispositions that it inherits.

mod each;
mod forwarded;
mod inherited;
mod while_waiting;
