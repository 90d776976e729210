//! The live line of a waiter and the messages are written by the same thread, so they appear in order.

use super::VERBOSITIES;
use crate::support::{Case, DEADLINE, end};

const LINE: &str = ": position ";

/// The command's output must not be appended to the live line, or erased with it.
#[test]
fn the_live_line_is_erased_before_the_command_s_first_output() {
    for verbosity in VERBOSITIES.iter().cycle().take(12) {
        let case = Case::new("line-order");
        let holder = case.holder();
        let waiter = case.lock(verbosity, ["sh", "-c", "echo wo''rk; exit 3"]);
        let mut waiter = waiter.prelude("stty cols 250").env("TERM", "xterm").in_terminal();
        waiter.expect(LINE, DEADLINE);
        end(holder);
        let before = waiter.expect("work\r\n", DEADLINE);
        assert_eq!(waiter.wait(DEADLINE).code(), Some(3));
        let line = before.rsplit('\n').next().unwrap();
        let left = line.rsplit("\x1b[2K").next().unwrap();
        assert_eq!(left.trim_start_matches('\r'), "", "{verbosity:?}: before the output: {line:?}");
        let after = waiter.text();
        let (_, after) = after.rsplit_once("work\r\n").unwrap();
        assert!(!after.contains(LINE) && !after.contains('\x1b'), "{verbosity:?}: {after:?}");
    }
}
