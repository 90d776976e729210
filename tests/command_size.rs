//! The kernel limits the length of a variable and of all arguments and variables together, and zklock adds variables.

use crate::support::Case;

#[test]
fn a_command_that_becomes_too_long_by_zklock_s_variables_is_reported_with_the_remedy() {
    let case = Case::new("long-command");
    let prelude = "ulimit -s 512; export BIG=$(printf %122000s x);";
    let run =
        |prelude: &str, path: &str| case.zklock().prelude(prelude).args([path, "--", "echo", "ran"]).run();
    let path = |length: usize| format!("{}-{}", case.path(), "y".repeat(length));
    for (prelude, length) in [(prelude, 2_000), ("", 100_000)] {
        let output = run(prelude, &path(length));
        output
            .assert_code(126)
            .assert_stdout("")
            .assert_stderr("can't be run: its arguments and its environment");
    }
    // The remedies.
    assert_eq!(run(&prelude.replace("512", "1024"), &path(2_000)).assert_code(0).stdout, "ran\n");
    assert_eq!(run(prelude, case.path()).assert_code(0).stdout, "ran\n");
}
