//! A connection that ends at any byte of what the server says.

use crate::support::{Case, DEADLINE, Output, Proxy, shared};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// As many at a time: most of the time each waits to connect again.
const AT_ONCE: usize = 16;

/// The handshake, the answer to the create and the list: cut at each byte. What follows is packets like these.
const EACH: usize = 240;

/// Beyond that each so many bytes, which divides the length of no packet.
const STRIDE: usize = 7;

/// For a zklock whose command is to run, however busy the machine is.
const PATIENT: &[&str] = &["--session-timeout", "30", "--connect-timeout", "60"];

/// One zklock whose first `cut` connections end after so many bytes.
#[track_caller]
fn run(cut: usize, bytes: usize, options: &[&str]) -> (Output, Proxy) {
    let proxy = Proxy::to(shared());
    proxy.cut_after(cut, bytes);
    let case = Case::new("cut").through(&proxy.connect_string());
    let output = case.lock(options, ["echo", "ran"]).spawn().wait(DEADLINE);
    assert!(!output.stderr.contains("panicked"), "after {bytes} bytes: {output}");
    (output, proxy)
}

/// Does it for all of them, many at once; panics if one of them does.
fn in_parallel(all: &[usize], work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some(&one) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
            work(one);
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(worker))));
}

#[test]
fn wherever_a_connection_ends_the_command_runs_once_and_nothing_is_left() {
    let (output, proxy) = run(0, 0, PATIENT);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    let whole = proxy.passed();
    assert!(whole > 2 * EACH, "what a server says to one that is alone: {whole}");
    let bytes: Vec<_> = (0..EACH).chain((EACH..whole).step_by(STRIDE)).collect();
    in_parallel(&bytes, |bytes| {
        let (output, proxy) = run(1, bytes, PATIENT);
        assert_eq!(output.assert_code(0).stdout, "ran\n", "after {bytes} bytes: {output}");
        // At the end there may be nothing left to come back for, and no two runs are of one length.
        assert!(bytes > EACH || proxy.accepted() > 1, "after {bytes} bytes: {output}");
    });
}

#[test]
fn where_every_connection_ends_it_ends_in_time_and_nothing_is_left() {
    let bytes = [0, 1, 4, 20, 40, 41, 42, 45, 61, 100, 200, 211, 239, 240, 300, 400];
    in_parallel(&bytes, |bytes| {
        let (output, _) = run(usize::MAX, bytes, &["--session-timeout", "5", "-w", "1"]);
        // What each connection achieves may be enough in the end.
        if output.code == Some(0) {
            assert_eq!(output.stdout, "ran\n", "after {bytes} bytes");
        } else {
            output.assert_code(125).assert_stderr("/t/cut-");
            assert_eq!(output.stdout, "", "after {bytes} bytes: {output}");
        }
    });
}
