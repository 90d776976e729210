//! Limits of memory, processes and threads: zklock refuses to start where it could only fail later, and names the limit.

use crate::support::{Case, OtherUser, Zklock};

#[test]
fn too_little_memory_is_reported_before_connecting() {
    let case = Case::new("limits-memory");
    let lock = &[case.path(), "echo", "ran"][..];
    for (option, too_few, enough) in [("-d", 16_000, 32_000), ("-v", 49_000, 98_000), ("-s", 128, 512)] {
        for words in [lock, &["status", case.path()]] {
            let limited =
                |limit| case.zklock().prelude(&format!("ulimit {option} {limit}")).args(words).run();
            let output = limited(too_few);
            output
                .assert_code(125)
                .assert_stderr(&format!("zklock may use {too_few} KiB (ulimit {option}) and needs"));
            assert_eq!(output.stdout, "");
            limited(enough).assert_code(0);
        }
    }
    let output = Zklock::bare(case.marker()).prelude("ulimit -s 64").arg("--version").run();
    output.assert_code(125).assert_stderr("ulimit -s");
}

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
