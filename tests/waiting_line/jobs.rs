//! In a shell with job control: the terminal belongs to whoever is in the foreground.

use super::screen::seen;
use super::{LINE, end, holder, wait_until_watched};
use crate::support::{Case, SOON, Shell};

/// A shell whose terminal has room for the line: it would be cut before the words that we look for.
fn wide(case: &Case) -> Shell {
    let mut shell = case.shell();
    shell.run("stty cols 250", SOON);
    shell
}

#[test]
fn in_the_background_nothing_is_drawn() {
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
fn ctrl_z_takes_it_away_and_fg_brings_it_back() {
    let case = Case::new("line-stop");
    let holder = holder(&case, "one");
    let mut shell = wide(&case);
    shell.enter(&format!("TERM=xterm $zklock {} sh -c 'echo wo\"\"rk'", case.path()), SOON);
    shell.terminal().expect(LINE, SOON);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);
    let screen = seen(&shell.terminal().text());
    assert!(!screen.iter().any(|line| line.contains(LINE)), "{screen:#?}");
    // Moved on in the background it stays away.
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
    let screen = seen(&shell.terminal().text());
    assert!(!screen.iter().any(|line| line.contains(LINE)), "{screen:#?}");
}
