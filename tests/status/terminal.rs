//! The table on a terminal: coloured, and as wide as there is room.

use super::{end, end_all, holder, waiter};
use crate::support::{Case, SOON};

const GREEN: &str = "\x1b[32m";
const BOLD: &str = "\x1b[1m";

/// What a terminal of so many columns shows.
#[track_caller]
fn on_terminal(case: &Case, columns: usize, environment: &[(&str, &str)]) -> String {
    let zklock = case.zklock().args(["status", case.path()]).prelude(&format!("stty cols {columns}"));
    let zklock = environment.iter().fold(zklock, |zklock, (name, value)| zklock.env(name, value));
    let mut terminal = zklock.in_terminal();
    assert!(terminal.wait(SOON).success(), "{}", terminal.text());
    // Titles, a line for the lock, and one for each contender; the terminal may show the last of it a moment later.
    for _ in 0..case.contenders().len() + 2 {
        terminal.expect("\r\n", SOON);
    }
    terminal.text()
}

#[test]
fn who_holds_is_green_and_who_waits_is_not() {
    let case = Case::new("colour");
    let contenders = vec![holder(&case, &[]), waiter(&case, &[], 2)];
    let screen = on_terminal(&case, 200, &[("TERM", "xterm")]);
    let row = |state: &str| screen.lines().find(|line| line.contains(&format!("  {state}  "))).unwrap();
    assert!(row("held").contains(GREEN), "{screen:?}");
    assert!(!row("waiting").contains('\x1b'), "{screen:?}");
    assert!(screen.contains(BOLD), "{screen:?}");
    end_all(contenders);
}

#[test]
fn no_colour_is_used_where_none_is_wanted() {
    let case = Case::new("no-colour");
    let job = holder(&case, &[]);
    for environment in [&[("TERM", "xterm"), ("NO_COLOR", "1")][..], &[("TERM", "dumb")], &[]] {
        let screen = on_terminal(&case, 200, environment);
        assert!(!screen.contains('\x1b'), "{environment:?} {screen:?}");
    }
    // An empty NO_COLOR is none, says no-color.org.
    assert!(on_terminal(&case, 200, &[("TERM", "xterm"), ("NO_COLOR", "")]).contains(GREEN));
    let output = case.zklock().args(["status", case.path()]).env("TERM", "xterm").run();
    assert!(!output.assert_code(0).stdout.contains('\x1b'), "{output}");
    end(job);
}

#[test]
fn a_narrow_terminal_gets_the_columns_that_fit_and_no_line_is_broken() {
    let case = Case::new("narrow");
    let job = holder(&case, &["--label", "nightly"]);
    for (columns, shown, hidden) in [
        (400, &["POS", "RUNS", "SESSION", "NODE"][..], &[][..]),
        (100, &["POS", "STATE", "RUNS", "SINCE"], &["NODE"]),
        (40, &["POS", "STATE", "RUNS"], &["NODE", "SESSION", "TOKEN"]),
        (12, &["POS"], &["NODE"]),
    ] {
        for environment in [("TERM", "dumb"), ("TERM", "xterm")] {
            let screen = on_terminal(&case, columns, &[environment]);
            let titles = screen.lines().next().unwrap().to_owned();
            assert!(shown.iter().all(|title| titles.contains(title)), "{columns}: {screen}");
            assert!(!hidden.iter().any(|title| titles.contains(title)), "{columns}: {screen}");
            for line in screen.lines() {
                let width = console::measure_text_width(line.trim_end());
                assert!(width <= columns, "{width} of {columns}: {line:?}");
            }
        }
    }
    end(job);
}

#[test]
fn a_watch_on_a_terminal_shows_the_newest_state_alone() {
    let case = Case::new("watch-screen");
    let zklock = case.zklock().args(["status", "--watch", case.path()]).env("TERM", "xterm");
    let mut terminal = zklock.in_terminal();
    terminal.expect("\x1b[2J", SOON);
    terminal.expect("free\r\n", SOON);
    let job = holder(&case, &["--label", "newest"]);
    terminal.expect("\x1b[H\x1b[2J", SOON);
    terminal.expect("newest", SOON);
    end(job);
    terminal.expect("\x1b[H\x1b[2J", SOON);
    terminal.expect("free\r\n", SOON);
    // Ctrl-C ends it, as any program.
    terminal.send(b"\x03");
    let ended = terminal.wait(SOON);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(2));
}
