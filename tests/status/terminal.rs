//! The table on a terminal: coloured, and fitted to its width.

use super::{end, end_all, holder, waiter};
use crate::support::{Case, DEADLINE, Proxy, Terminal, shared};
use zookeeper::Permission;

const GREEN: &str = "\x1b[32m";
const BOLD: &str = "\x1b[1m";

/// The output of `status` on a terminal with this many columns.
#[track_caller]
fn on_terminal(case: &Case, columns: usize, environment: &[(&str, &str)]) -> String {
    let zklock = case.zklock().args(["status", case.path()]).prelude(&format!("stty cols {columns}"));
    let zklock = environment.iter().fold(zklock, |zklock, (name, value)| zklock.env(name, value));
    let mut terminal = zklock.in_terminal();
    assert!(terminal.wait(DEADLINE).success(), "{}", terminal.text());
    // Titles, a line for the lock, and one for each contender; the terminal may show the last lines a moment later.
    for _ in 0..case.contenders().len() + 2 {
        terminal.expect("\r\n", DEADLINE);
    }
    terminal.text()
}

#[test]
fn holders_are_green_and_waiters_are_not() {
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
fn no_colours_with_no_color_or_without_a_capable_terminal() {
    let case = Case::new("no-colour");
    let job = holder(&case, &[]);
    for environment in [&[("TERM", "xterm"), ("NO_COLOR", "1")][..], &[("TERM", "dumb")], &[]] {
        let screen = on_terminal(&case, 200, environment);
        assert!(!screen.contains('\x1b'), "{environment:?} {screen:?}");
    }
    // By no-color.org, an empty NO_COLOR counts as unset.
    assert!(on_terminal(&case, 200, &[("TERM", "xterm"), ("NO_COLOR", "")]).contains(GREEN));
    let output = case.zklock().args(["status", case.path()]).env("TERM", "xterm").run();
    assert!(!output.assert_code(0).stdout.contains('\x1b'), "{output}");
    end(job);
}

fn delete(case: &Case, nodes: &[String]) {
    for node in nodes {
        case.observer().delete(node);
    }
}

/// The lines on the screen of a watch since it was last drawn.
fn screen_lines(terminal: &Terminal) -> Vec<String> {
    let text = terminal.text();
    let (_, last) = text.rsplit_once("\x1b[H").unwrap_or_default();
    console::strip_ansi_codes(last).lines().map(str::to_owned).collect()
}

#[test]
fn a_watch_shows_only_the_newest_state_and_as_much_as_the_terminal_has_room_for() {
    let case = Case::new("watch-screen");
    let closed = case.guarded(Permission::CREATE);
    let nodes: Vec<String> = (0..30).map(|number| case.add_contender(&format!("job {number}."))).collect();
    let zklock = case.zklock().args(["status", "--watch", case.path(), &closed]).env("TERM", "xterm");
    let mut terminal = zklock.prelude("stty rows 12 cols 120").in_terminal();
    terminal.expect("... and 24 more", DEADLINE);
    let lines = screen_lines(&terminal);
    assert!(lines[0].starts_with(&format!("zklock: {closed}: no permission to look there")), "{lines:#?}");
    assert!(lines[1].contains("POS") && lines[3].contains("job 0."), "{lines:#?}");
    terminal.resize(20, 60);
    terminal.expect("... and 16 more", DEADLINE);
    let lines = screen_lines(&terminal);
    assert!(lines.iter().all(|line| console::measure_text_width(line) <= 60), "{lines:#?}");
    delete(&case, &nodes);
    terminal.expect("free", DEADLINE);
    terminal.expect("\x1b[J", DEADLINE);
    assert_eq!(screen_lines(&terminal).len(), 3, "{:#?}", screen_lines(&terminal));
    // Ctrl-C ends it, as it ends any program.
    terminal.send(b"\x03");
    let ended = terminal.wait(DEADLINE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(2));
}

#[test]
fn a_watch_says_below_the_table_that_there_is_no_connection() {
    let proxy = Proxy::to(shared());
    let case = Case::new("watch-old").through(&proxy.connect_string());
    let zklock = case.zklock().args(["status", "--watch", case.path()]).env("TERM", "xterm");
    let mut terminal = zklock.prelude("stty cols 200").in_terminal();
    terminal.expect("free", DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    terminal.expect("zklock: no connection to the servers for ", DEADLINE);
    proxy.refuse_new(false);
    terminal.expect("\x1b[H", DEADLINE);
    terminal.expect("free", DEADLINE);
    terminal.expect("\x1b[J", DEADLINE);
    assert_eq!(screen_lines(&terminal).len(), 1, "{:?}", terminal.text());
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
}

#[test]
fn without_a_watch_a_long_queue_is_shown_whole() {
    let case = Case::new("whole");
    let nodes: Vec<String> = (0..40).map(|number| case.add_contender(&format!("job {number}."))).collect();
    let text = on_terminal(&case, 80, &[("TERM", "xterm")]);
    assert!((0..40).all(|number| text.contains(&format!("job {number}."))), "{text}");
    delete(&case, &nodes);
}
