//! `--once-per` inside a lock.

use super::{record, run};
use crate::support::Case;

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
