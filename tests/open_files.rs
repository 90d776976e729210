//! The limit of open files, and the files that zklock inherits.

use crate::support::{Case, DEADLINE, has_namespaces, shared, unshare, wait_for, worker_of};
use nix::sys::signal::{Signal, kill};

/// The client library would panic, or blame the server.
#[test]
fn too_few_open_files_are_reported_before_connecting() {
    let case = Case::new("open-files");
    let lock = &[case.path(), "echo", "ran"][..];
    for (limit, code) in [(8, 125), (63, 125), (64, 0)] {
        for words in [lock, &["status", case.path()]] {
            let output = case.zklock().prelude(&format!("ulimit -n {limit}")).args(words).run();
            output.assert_code(code);
            if code != 0 {
                output.assert_stderr(&format!(
                    "zklock may have {limit} open files and needs 64: raise the limit, as by 'ulimit -n 1024'"
                ));
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

/// It looks names up, connects, and cleans up after a worker that is killed; with fewer free numbers than that takes, no
/// process and no node is left either.
#[test]
fn with_few_open_files_zklock_works_to_the_end_or_ends_its_command() {
    let case = Case::new("few-files").through(&shared().connect_string().replace("127.0.0.1", "localhost"));
    let options = ["--session-timeout", "4"];
    for free in 1..20 {
        let few = with_free_numbers(256, free);
        let running = case.lock(&options, ["sh", "-c", "echo ready; exec sleep 60"]).prelude(&few).spawn();
        let starts = wait_for("a command or an end", DEADLINE, || {
            let starts = running.stdout().count("ready") > 0;
            (starts || !running.is_running()).then_some(starts)
        });
        if starts {
            // It may have ended by itself just now.
            kill(worker_of(running.pid()), Signal::SIGKILL).ok();
        }
        let output = running.wait(DEADLINE);
        assert!(matches!(output.code, Some(123 | 125)), "{free}: {output}");
        if free >= 16 {
            output.assert_code(123).assert_stderr("the lock node is gone");
        }
    }
}
