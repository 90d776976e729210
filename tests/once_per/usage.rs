//! Options that can't be combined with `--once-per`.

use super::{HOUR, record, run};
use crate::support::{Case, Zklock};

#[test]
fn once_per_needs_a_single_exclusive_lock() {
    let case = Case::new("once-usage");
    // Refused without a connection to a server.
    let refused = |words: &[&str], reason: &str| {
        let zklock = Zklock::at("127.0.0.1:1", case.marker()).args(HOUR).args(words);
        zklock.run().assert_code(125).assert_stderr(reason);
    };
    refused(&["-s", "/a", "true"], "--shared");
    refused(&["--slots", "2", "/a", "true"], "--slots");
    refused(&["/a", "/b", "--", "true"], "--once-per goes with one lock");
    refused(&["-c", "true", "/a", "/b"], "--once-per goes with one lock");
    for period in ["0", "1w", "soon"] {
        let zklock = Zklock::at("127.0.0.1:1", case.marker());
        zklock.args(["--once-per", period, "/a", "true"]).run().assert_code(125).assert_stderr("--once-per");
    }
}

/// The outer zklock would release the lock without a record.
#[test]
fn once_per_inside_the_same_lock_is_refused() {
    let case = Case::new("once-nested");
    let zklock = env!("CARGO_BIN_EXE_zklock");
    let inner = format!("{zklock} -z {} --once-per 60 {} echo ran", case.hosts(), case.path());
    let output = run(&case, &[], &inner);
    output.assert_code(125).assert_stderr("put --once-per there");
    assert_eq!(output.stdout, "");
    // Inside another lock it works as usual.
    let elsewhere = format!("{}-other", case.path());
    let inner = format!("{zklock} -z {} --once-per 60 {elsewhere} echo ran", case.hosts());
    assert_eq!(run(&case, &[], &inner).assert_code(0).stdout, "ran\n");
    assert!(!case.observer().exists(&record(&case)));
}
