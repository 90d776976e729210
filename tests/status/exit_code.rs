//! `--exit-code`, so that a script can ask.

use super::{end, end_all, holder, status, waiter};
use crate::support::Case;

#[test]
fn it_is_1_while_the_lock_is_held_and_0_while_it_is_free() {
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

/// A script must not take "I don't know" for "nobody".
#[test]
fn what_could_not_be_found_out_is_neither() {
    let case = Case::new("exit-code-unknown");
    let output = case.zklock().args(["-z", "127.0.0.1:1", "--connect-timeout", "0.3"]);
    output.args(["status", "--exit-code", case.path()]).run().assert_code(125);
    status(&case, &["--exit-code", "--watch", case.path()]).assert_code(125);
}
