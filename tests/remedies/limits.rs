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
