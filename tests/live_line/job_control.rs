//! The live line under a shell with job control: only a foreground job may draw it.

use super::screen::visible;
use super::{LINE, end, holder, wait_until_watched};
use crate::support::{Case, SOON, Shell};

/// A shell whose terminal is wide enough: otherwise the line would be truncated before the text that the tests look
/// for.
fn wide(case: &Case) -> Shell {
    let mut shell = case.shell();
    shell.run("stty cols 250", SOON);
    shell
}

#[test]
fn no_live_line_in_the_background() {
    let case = Case::new("line-background");
    let holder = holder(&case, "one");
    let ahead = case.contenders().pop().unwrap();
    let mut shell = wide(&case);
    shell.run(&format!("TERM=xterm $zklock {} sh -c 'echo wo\"\"rk' &", case.path()), SOON);
    wait_until_watched(&case, &ahead);
    end(holder);
    shell.terminal().expect("work\r\n", SOON);
    assert!(!shell.terminal().text().contains(LINE), "{:?}", shell.terminal().text());
    shell.run("wait", SOON);
}

#[test]
fn ctrl_z_erases_the_live_line_and_fg_draws_it_again() {
    let case = Case::new("line-stop");
    let holder = holder(&case, "one");
    let mut shell = wide(&case);
    shell.enter(&format!("TERM=xterm $zklock {} sh -c 'echo wo\"\"rk'", case.path()), SOON);
    shell.terminal().expect(LINE, SOON);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);
    let screen = visible(&shell.terminal().text());
    assert!(!screen.iter().any(|line| line.contains(LINE)), "{screen:#?}");
    // Continued in the background it isn't drawn.
    let drawn = shell.terminal().text().matches(LINE).count();
    shell.run("bg", SOON);
    shell.run("sleep 1.5", SOON);
    assert_eq!(shell.terminal().text().matches(LINE).count(), drawn);
    shell.enter("fg", SOON);
    shell.terminal().expect(LINE, SOON);
    end(holder);
    shell.terminal().expect("work\r\n", SOON);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 0);
    let screen = visible(&shell.terminal().text());
    assert!(!screen.iter().any(|line| line.contains(LINE)), "{screen:#?}");
}
