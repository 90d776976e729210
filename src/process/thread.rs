//! Threads with a stack of a known size.

use std::thread::Builder;

/// What the standard library gives a thread by default.
const STACK: usize = 2 << 20;

/// A thread to be started. Without a size, the standard library would take that in `RUST_MIN_STACK`, which is meant for the
/// command: a small one would crash zklock.
#[allow(clippy::disallowed_methods, reason = "this is the one place")]
pub fn builder() -> Builder {
    Builder::new().stack_size(STACK)
}
