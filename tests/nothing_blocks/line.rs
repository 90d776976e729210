//! The line that a terminal shows to a waiter is written by the same hand as all the rest: it comes in order.

use super::SAYING;
use crate::support::{Case, SOON, end};

const LINE: &str = ", waiting ";

/// What the command writes must not stand behind the rest of a line, nor be taken away with it.
#[test]
fn it_is_gone_before_the_command_s_first_output_every_time() {
    for saying in SAYING.iter().cycle().take(12) {
        let case = Case::new("line-order");
        let holder = case.holder();
        let waiter = case.lock(saying, ["sh", "-c", "echo wo''rk; exit 3"]);
        let mut waiter = waiter.prelude("stty cols 250").env("TERM", "xterm").in_terminal();
        waiter.expect(LINE, SOON);
        end(holder);
        let before = waiter.expect("work\r\n", SOON);
        assert_eq!(waiter.wait(SOON).code(), Some(3));
        let line = before.rsplit('\n').next().unwrap();
        let left = line.rsplit("\x1b[2K").next().unwrap();
        assert_eq!(left.trim_start_matches('\r'), "", "{saying:?}: before the output: {line:?}");
        let after = waiter.text();
        let (_, after) = after.rsplit_once("work\r\n").unwrap();
        assert!(!after.contains(LINE) && !after.contains('\x1b'), "{saying:?}: {after:?}");
    }
}
