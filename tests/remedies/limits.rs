//! Remedies for limits of the system: the command in the message, in the shell that starts zklock.

use super::between;
use crate::support::Case;

#[test]
fn a_limit_that_is_raised_as_the_message_says_is_enough() {
    let case = Case::new("remedy-limits");
    let run = |prelude: &str| case.lock(&[], ["echo", "ran"]).prelude(prelude).run();
    let said = run("ulimit -S -n 10").assert_code(125).stderr.clone();
    let raised = between(&said, "raise the limit, as by '", "'").replace("ulimit", "ulimit -S");
    assert_eq!(run(&format!("ulimit -S -n 10; {raised}")).assert_code(0).stdout, "ran\n", "{raised}");
}

/// As sudo drops the variable, `--preserve-env` keeps it.
#[test]
fn a_nested_zklock_that_gets_the_variable_of_the_message_runs_at_once() {
    let case = Case::new("remedy-variable");
    let nested = |kept: &str| {
        let zklock =
            format!("'{}' -z {} {} -- echo ran", env!("CARGO_BIN_EXE_zklock"), case.hosts(), case.path());
        let inner = format!("env -i PATH=\"$PATH\" ZKLOCK_TEST_RUN={} {kept} {zklock}", case.marker());
        case.zklock().args([case.path(), "-c", &inner]).run()
    };
    let said = nested("").assert_code(125).stderr.clone();
    let name = between(&said, "--preserve-env=", ",").to_owned();
    assert_eq!(nested(&format!("{name}=\"${name}\"")).assert_code(0).stdout, "ran\n");
}
