//! Free loopback ports.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The first port. The range lies below the kernel's ephemeral range, because any outgoing connection could take an
/// ephemeral port while the server that owns the port is being restarted.
const FIRST: u64 = 12_000;
const COUNT: u64 = 20_000;

static GIVEN: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);

/// A listener on a port that was not given out before in this process.
pub fn bind() -> TcpListener {
    for _ in 0..1000 {
        // A fresh `RandomState` is the standard library's only source of randomness.
        let offset = RandomState::new().hash_one(0) % COUNT;
        let port = u16::try_from(FIRST + offset).expect("the range fits");
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if given.contains(&port) {
            continue;
        }
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            given.insert(port);
            return listener;
        }
    }
    panic!("no free port on loopback");
}

/// A port that was free a moment ago. Another process may take it meanwhile, so the caller has to check.
pub fn free() -> u16 {
    bind().local_addr().expect("a bound port").port()
}
