//! The limit of processes and threads: zklock names it where it is reached.

use crate::support::{Case, OtherUser};

/// Each number of processes and threads from too few to enough.
#[test]
fn a_limit_of_processes_is_named_wherever_it_is_reached() {
    let Some(user) = OtherUser::new() else { return };
    let case = Case::new("limits-processes");
    for words in [&["-w", "20", case.path(), "sh", "-c", "echo ran"][..], &["status", case.path()]] {
        let mut worked = 0;
        for limit in 1.. {
            let output =
                user.zklock(case.hosts(), &["prlimit", &format!("--nproc={limit}")]).args(words).run();
            if output.code == Some(0) {
                worked += 1;
                assert!(!output.stderr.contains("limit"), "{output}");
            } else {
                output.assert_code(125).assert_stderr("the limit of").assert_stderr("raise 'ulimit -u'");
                worked = 0;
            }
            for riddle in ["os error", "panicked", "what the server said", "Try again", "Unexpected"] {
                assert!(!output.stderr.contains(riddle), "limit {limit}: {output}");
            }
            if worked == 2 {
                break;
            }
            assert!(limit < 20, "it never works");
        }
    }
}
