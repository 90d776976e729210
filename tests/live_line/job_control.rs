//! The live line under a shell with job control: only a foreground job may draw it.

use super::screen::visible;
use super::{LINE, end, wait_until_watched};
use crate::support::{Case, DEADLINE, Shell};

/// A shell whose terminal is wide enough: otherwise the line would be truncated before the text that the tests look
/// for.
fn wide(case: &Case) -> Shell {
    let mut shell = case.shell();
    shell.run("stty cols 250", DEADLINE);
    shell
}

#[test]
fn no_live_line_in_the_background() {
    let case = Case::new("line-background");
    let holder = case.direct_holder(&["--label", "one"]);
    let ahead = case.contenders().pop().unwrap();
    let mut shell = wide(&case);
    shell.run(&format!("TERM=xterm $zklock {} sh -c 'echo wo\"\"rk' &", case.path()), DEADLINE);
    wait_until_watched(&case, &ahead);
    end(holder);
    shell.terminal().expect("work\r\n", DEADLINE);
    assert!(!shell.terminal().text().contains(LINE), "{:?}", shell.terminal().text());
    shell.run("wait", DEADLINE);
}

#[test]
fn ctrl_z_erases_the_live_line_and_fg_draws_it_again() {
    let case = Case::new("line-stop");
    let holder = case.direct_holder(&["--label", "one"]);
    let mut shell = wide(&case);
    shell.enter(&format!("TERM=xterm $zklock {} sh -c 'echo wo\"\"rk'", case.path()), DEADLINE);
    shell.terminal().expect(LINE, DEADLINE);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    let screen = visible(&shell.terminal().text());
    assert!(!screen.iter().any(|line| line.contains(LINE)), "{screen:#?}");
    // Continued in the background it isn't drawn.
    let drawn = shell.terminal().text().matches(LINE).count();
    shell.run("bg", DEADLINE);
    shell.run("sleep 1.5", DEADLINE);
    assert_eq!(shell.terminal().text().matches(LINE).count(), drawn);
    shell.enter("fg", DEADLINE);
    shell.terminal().expect(LINE, DEADLINE);
    end(holder);
    shell.terminal().expect("work\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
    let screen = visible(&shell.terminal().text());
    assert!(!screen.iter().any(|line| line.contains(LINE)), "{screen:#?}");
}
