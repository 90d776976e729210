//! The limit of open files, and the files that zklock inherits.

use crate::support::{Case, DEADLINE, has_namespaces, shared, unshare, wait_for, worker_of};
use nix::sys::signal::{Signal, kill};

/// The client library would panic, or blame the server.
#[test]
fn too_few_open_files_are_reported_before_connecting() {
    let case = Case::new("open-files");
    let lock = &[case.path(), "echo", "ran"][..];
    for (limit, code) in [(8, 125), (19, 125), (20, 0)] {
        for words in [lock, &["status", case.path()]] {
            let output = case.zklock().prelude(&format!("ulimit -n {limit}")).args(words).run();
            output.assert_code(code);
            if code != 0 {
                output.assert_stderr(&format!("zklock may have {limit} open files and needs 20"));
                assert_eq!(output.stdout, "");
            }
        }
    }
}

/// Shell lines that leave this many numbers free below the limit, besides stdin, stdout and stderr.
pub(crate) fn with_free_numbers(limit: u64, free: u64) -> String {
    // First the files that the shell inherits, of which there may be any number.
    format!(
        "for open in /proc/$$/fd/*; do open=${{open##*/}}; ((open < 3)) || eval \"exec $open<&-\"; done
        for ((open = 3; open < {limit} - {free}; open++)); do eval \"exec $open</dev/null\"; done
        ulimit -n {limit}"
    )
}

#[test]
fn inherited_open_files_count_below_the_limit() {
    let case = Case::new("inherited-files");
    let is_refused = |prelude: &str, words: &str| {
        let output = case.zklock().prelude(prelude).args([case.path(), "echo", "ran"]).run();
        if output.code != Some(0) {
            output.assert_code(125).assert_stderr(words);
            assert_eq!(output.stdout, "");
        }
        output.code != Some(0)
    };
    for limit in [20, 24, 64, 256, 1024] {
        let inherited = limit - 3 - 14;
        let words = format!("zklock may have {limit} open files and needs {}", limit + 1);
        assert!(is_refused(
            &with_free_numbers(limit, 14),
            &format!("{words}, because it inherits {inherited}")
        ));
        assert!(!is_refused(&with_free_numbers(limit, 15), ""));
    }
    let output = case.zklock().prelude(&with_free_numbers(1024, 14)).args([case.path(), "echo", "ran"]).run();
    output.assert_stderr("raise the limit, as by 'ulimit -n 2048' or LimitNOFILE=2048");
    let above = with_free_numbers(24, 21).replace("ulimit", "exec 40</dev/null; ulimit");
    assert!(!is_refused(&above, ""), "a number above the limit takes none below it");
}

#[test]
fn a_missing_proc_is_named_and_not_taken_for_inherited_files() {
    let case = Case::new("no-proc");
    for (kinds, script) in [("--mount", "umount -l /proc"), ("--pid --fork", ":")] {
        if !has_namespaces(kinds, script) {
            continue;
        }
        let prelude = format!("exec {} sh -c '{script} && exec \"$0\" \"$@\"' \"$0\" \"$@\"", unshare(kinds));
        let run = |words: &[&str]| case.zklock().prelude(&prelude).args(words).run();
        run(&[case.path(), "echo", "ran"]).assert_code(125).assert_stderr("/proc isn't mounted");
        run(&["status", case.path()]).assert_code(0);
    }
}

/// Each zklock either refuses at the start, or has what it needs until the end: to look names up, to connect, and to
/// clean up after a worker that is killed.
#[test]
fn with_few_open_files_zklock_refuses_at_the_start_or_works_to_the_end() {
    let one = shared().connect_string().replace("127.0.0.1", "localhost");
    for (hosts, limit) in [(one.clone(), 256), (format!("{one},no-such-host.invalid:1,localhost:1"), 1024)] {
        refuses_or_works(&hosts, limit);
    }
}

#[track_caller]
fn refuses_or_works(hosts: &str, limit: u64) {
    let case = Case::new("few-files").through(hosts);
    let mut worked = 0;
    for free in 1..21 {
        let few = with_free_numbers(limit, free);
        let running = case.lock(&[], ["sh", "-c", "echo ready; exec sleep 60"]).prelude(&few).spawn();
        let starts = wait_for("a command or an end", DEADLINE, || {
            let starts = running.stdout().count("ready") > 0;
            (starts || !running.is_running()).then_some(starts)
        });
        if starts {
            kill(worker_of(running.pid()), Signal::SIGKILL).expect("a worker");
            let output = running.wait(DEADLINE);
            output.assert_code(123).assert_stderr("the lock node is gone");
            worked += 1;
        } else {
            let output = running.wait(DEADLINE);
            output.assert_code(125).assert_stderr(&format!("zklock may have {limit} open files and needs"));
        }
    }
    assert!(worked >= 3, "{worked}");
}
