//! Tests of what would pass unseen if it didn't work: faults that don't happen, and checks that find nothing.

mod history;
mod processes;
mod proxy;
