//! zklock exits in time and with the right exit code although its messages aren't read.

use super::{EXIT_LIMIT, UnreadStderr, VERBOSITIES, for_each_unread_stderr};
use crate::support::{Case, DEADLINE, Running, Zklock, end, free_port};
use nix::sys::signal::Signal;

for_each_unread_stderr! {
    zklock_exits_like_the_command
    an_unread_error_keeps_its_exit_code
    a_subcommand_and_a_mistake_end
    a_zklock_inside_ends
}

#[test]
fn zklock_exits_like_the_command_whatever_becomes_of_its_messages() {
    for stderr in [UnreadStderr::BrokenPipe, UnreadStderr::FullDisk, UnreadStderr::FileLimit] {
        zklock_exits_like_the_command(stderr);
    }
}

fn zklock_exits_like_the_command(stderr: UnreadStderr) {
    for verbosity in VERBOSITIES {
        let case = Case::new("unheard-end");
        let job = stderr.start(&case, verbosity, "sleep 0.3; exit 9");
        assert_eq!(job.end(EXIT_LIMIT), Ok(9), "{verbosity:?}");
        let job = stderr.start(&case, verbosity, "sleep 0.3; kill -USR1 $$");
        assert_eq!(job.end(EXIT_LIMIT), Err(Signal::SIGUSR1), "{verbosity:?}");
    }
}

fn an_unread_error_keeps_its_exit_code(stderr: UnreadStderr) {
    for verbosity in VERBOSITIES {
        let case = Case::new("unheard-error");
        let holder: Running = case.holder();
        let busy = case.lock(&[verbosity, &["-n", "-E", "77"]].concat(), ["echo", "must not run"]);
        assert_eq!(stderr.begin(&case, busy).end(EXIT_LIMIT), Ok(77), "{verbosity:?}");
        end(holder);
        let missing = case.lock(verbosity, ["/no/such/program"]);
        assert_eq!(stderr.begin(&case, missing).end(EXIT_LIMIT), Ok(127), "{verbosity:?}");
        let nowhere = Zklock::at(&format!("127.0.0.1:{}", free_port()), case.marker())
            .args(verbosity)
            .args(["--connect-timeout", "1", case.path(), "--", "echo", "must not run"]);
        assert_eq!(stderr.begin(&case, nowhere).end(DEADLINE), Ok(125), "{verbosity:?}");
    }
}

/// The lock around it must not wait for whoever doesn't read.
fn a_zklock_inside_ends(stderr: UnreadStderr) {
    let case = Case::new("unheard-inside");
    let inner = format!("sleep 0.3; {} -v -z {} {}", env!("CARGO_BIN_EXE_zklock"), case.hosts(), case.path());
    let refused: &[&str] = &["-s"];
    for (options, command, code) in
        [(refused, "true", 125), (&[], "sh -c 'exit 9'", 9), (&[], "/no/such/program", 127)]
    {
        let job = stderr.start(&case, options, &format!("{inner} -- {command}"));
        assert_eq!(job.end(EXIT_LIMIT), Ok(code), "{command}");
    }
}

fn a_subcommand_and_a_mistake_end(stderr: UnreadStderr) {
    let case = Case::new("unheard-subcommand");
    for (words, code) in [(&["revoke", case.path()][..], 1), (&["revoke"], 125), (&["--no-such-option"], 125)]
    {
        let zklock = case.zklock().args(words);
        assert_eq!(stderr.begin(&case, zklock).end(EXIT_LIMIT), Ok(code), "{words:?}");
    }
}
