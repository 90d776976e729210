//! A background process of a running command asks for the same lock.

use super::{inner, outer, shell};
use crate::support::{Case, DEADLINE, Running, wait_until};
use std::fs::{read_to_string, write};

/// How the command starts a background process: as its child, or in a session of its own.
const STARTS: [&str; 2] = ["", "setsid "];

/// What happens to the variables on the way.
const KEEPS: &str = "";
const REMOVES: &str = "env -u ZKLOCK_HELD ";

/// A zklock whose command starts another zklock with this command in the background, and then runs `after`. The inner
/// one's output is in the files `out` and `err`, and its exit code in `code`.
fn in_the_background(case: &Case, start: &str, command: &str, after: &str) -> Running {
    let dir = case.dir().display();
    let background = format!("\"$@\" >{dir}/out 2>{dir}/err; echo $? >{dir}/code");
    let script = format!("{start}sh -c '{background}' sh \"$@\" </dev/null & {after}");
    let script = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    outer(case, &[], &[script, inner(case, &[]), shell(command)]).spawn()
}

fn text(case: &Case, file: &str) -> String {
    read_to_string(case.dir().join(file)).unwrap_or_default()
}

/// Waits until the inner zklock has ended, and returns its exit code.
#[track_caller]
fn code(case: &Case) -> String {
    wait_until("the background process to end", DEADLINE, || text(case, "code").ends_with('\n'));
    text(case, "code").trim().to_owned()
}

/// A line for the shell that waits until the test has created the file `go`.
fn until_go(case: &Case) -> String {
    format!("until [ -e {}/go ]; do sleep 0.01; done", case.dir().display())
}

fn go(case: &Case) {
    write(case.dir().join("go"), "").unwrap();
}

#[test]
fn with_the_variables_it_runs_at_once_under_the_lock_of_the_command() {
    for start in STARTS {
        let case = Case::new("background");
        let running = in_the_background(&case, start, "echo ran", &until_go(&case));
        assert_eq!(code(&case), "0", "{}", text(&case, "err"));
        assert_eq!(text(&case, "out"), "ran\n");
        assert_eq!(case.contenders().len(), 1);
        go(&case);
        running.wait(DEADLINE).assert_code(0);
    }
}

/// Nothing is held any more, whatever the variables say.
#[test]
fn after_the_end_of_the_command_it_queues_like_any_other() {
    for start in STARTS {
        for variables in [KEEPS, REMOVES] {
            let case = Case::new("background-left");
            let waits = format!("{start}{variables}sh -c '{}; exec \"$@\"' sh ", until_go(&case));
            in_the_background(&case, &waits, "echo ran", "exit 0").wait(DEADLINE).assert_code(0);
            let holder = case.holder();
            go(&case);
            wait_until("the background process to queue", DEADLINE, || case.contenders().len() == 2);
            assert_eq!(text(&case, "out"), "");
            crate::support::end(holder);
            assert_eq!(code(&case), "0", "{}", text(&case, "err"));
            assert_eq!(text(&case, "out"), "ran\n");
        }
    }
}

/// The command holds the lock, and not its background processes.
#[test]
fn a_process_that_began_under_the_lock_runs_on_without_it_after_the_end_of_the_command() {
    let case = Case::new("background-on");
    let begun = format!("until [ -s {}/out ]; do sleep 0.01; done", case.dir().display());
    let command = format!("echo begun; {}; echo ended", until_go(&case));
    in_the_background(&case, "", &command, &begun).wait(DEADLINE).assert_code(0);
    case.lock(&["-n"], ["true"]).run().assert_code(0);
    assert_eq!(text(&case, "out"), "begun\n");
    go(&case);
    assert_eq!(code(&case), "0");
}
