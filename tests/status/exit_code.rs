//! `--exit-code`, for scripts.

use super::{end, end_all, holder, status, waiter};
use crate::support::Case;

#[test]
fn the_exit_code_is_1_for_a_held_and_0_for_a_free_lock() {
    let case = Case::new("exit-code");
    status(&case, &["--exit-code", case.path()]).assert_code(0);
    let job = holder(&case, &[]);
    status(&case, &["--exit-code", case.path()]).assert_code(1);
    status(&case, &["--exit-code", "--json", case.path()]).assert_code(1);
    status(&case, &[case.path()]).assert_code(0);
    end(job);
    status(&case, &["--exit-code", case.path()]).assert_code(0);
}

#[test]
fn one_held_lock_among_several_counts() {
    let case = Case::new("exit-code-several");
    let contenders = vec![holder(&case, &["-s"]), waiter(&case, &[], 2)];
    status(&case, &["--exit-code", "/t/free-one", case.path(), "/t/free-two"]).assert_code(1);
    status(&case, &["--exit-code", "/t/free-one", "/t/free-two"]).assert_code(0);
    status(&case, &["--exit-code", "--recursive", case.path()]).assert_code(1);
    end_all(contenders);
}

/// A script must not take an unknown state for a free lock.
#[test]
fn the_exit_code_is_125_if_the_state_is_unknown() {
    let case = Case::new("exit-code-unknown");
    let output = case.zklock().args(["-z", "127.0.0.1:1", "--connect-timeout", "0.3"]);
    output.args(["status", "--exit-code", case.path()]).run().assert_code(125);
    status(&case, &["--exit-code", "--watch", case.path()]).assert_code(125);
}
