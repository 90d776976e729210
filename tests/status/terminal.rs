//! The table on a terminal: coloured, and fitted to its width.

use super::{end, end_all, holder, status, waiter};
use crate::support::{Case, DEADLINE, Proxy, Terminal, shared};

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

#[test]
fn a_narrow_terminal_gets_only_the_columns_that_fit() {
    let case = Case::new("narrow");
    let job = holder(&case, &["--label", "nightly"]);
    for (columns, shown, hidden) in [
        (400, &["POS", "RUNS", "SESSION", "NODE"][..], &[][..]),
        (100, &["POS", "STATE", "RUNS", "SINCE"], &["NODE"]),
        (40, &["POS", "STATE", "HOST:PID"], &["NODE", "SESSION", "TOKEN"]),
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
fn a_watch_on_a_terminal_shows_only_the_newest_state() {
    let case = Case::new("watch-screen");
    let zklock = case.zklock().args(["status", "--watch", case.path()]).env("TERM", "xterm");
    let mut terminal = zklock.in_terminal();
    terminal.expect("\x1b[2J", DEADLINE);
    terminal.expect("free\r\n", DEADLINE);
    let job = holder(&case, &["--label", "newest"]);
    terminal.expect("\x1b[H\x1b[2J", DEADLINE);
    terminal.expect("newest", DEADLINE);
    end(job);
    terminal.expect("\x1b[H\x1b[2J", DEADLINE);
    terminal.expect("free\r\n", DEADLINE);
    // Ctrl-C ends it, as it ends any program.
    terminal.send(b"\x03");
    let ended = terminal.wait(DEADLINE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(2));
}

#[test]
fn a_watch_repeats_permission_errors_on_a_cleared_screen() {
    let case = Case::new("closed-screen");
    let closed = case.guarded(zookeeper::Permission::CREATE);
    let zklock = case.zklock().args(["status", "--watch", case.path(), &closed]).env("TERM", "xterm");
    let mut terminal = zklock.in_terminal();
    let error = format!("zklock: {closed}: no permission to look there");
    terminal.expect(&error, DEADLINE);
    let job = holder(&case, &["--label", "newest"]);
    terminal.expect("newest", DEADLINE);
    terminal.expect(&error, DEADLINE);
    end(job);
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
}

/// Creates the node of a contender on another host.
fn contender(case: &Case, host: &str, label: &str) -> String {
    let data = serde_json::json!({
        "version": 1, "host": host, "pid": 4_194_303, "user": "deploy", "program": "p", "label": label,
        "mode": "exclusive", "slots": 1,
    });
    case.add_contender(&data.to_string())
}

fn delete(case: &Case, nodes: &[String]) {
    for node in nodes {
        case.observer().delete(node);
    }
}

/// The lines on the screen since it was last cleared.
fn screen_lines(terminal: &Terminal) -> Vec<String> {
    let text = terminal.text();
    let (_, last) = text.rsplit_once("\x1b[3J").unwrap_or_default();
    console::strip_ansi_codes(last).lines().map(str::to_owned).collect()
}

/// Starts a watch on a terminal of this size.
fn watch(case: &Case, rows: usize, columns: usize) -> Terminal {
    let zklock = case.zklock().args(["status", "--watch", case.path()]).env("TERM", "xterm");
    zklock.prelude(&format!("stty rows {rows} cols {columns}")).in_terminal()
}

#[test]
fn the_label_is_truncated_before_host_and_pid() {
    let case = Case::new("columns");
    let label = "shop/web 1042: deploy the new front page to staging and tell everybody";
    let nodes = [contender(&case, "ip-10-0-12-207", label), contender(&case, "runner-7", "short")];
    for columns in [80, 110] {
        let screen = on_terminal(&case, columns, &[("TERM", "dumb")]);
        let lines: Vec<&str> = screen.lines().collect();
        assert!(lines[2].contains("  ip-10-0-12-207:4194303  deploy  shop/web "), "{screen}");
        assert!(lines[2].contains('…') && !lines[2].ends_with("everybody"), "{screen}");
        assert!(lines[3].contains("  runner-7:4194303 ") && lines[3].ends_with("  short"), "{screen}");
        assert!(!lines[0].contains("SINCE"), "{screen}");
        assert!(lines.iter().all(|line| console::measure_text_width(line) <= columns), "{screen}");
    }
    assert!(status(&case, &[case.path()]).stdout.contains(label), "without a terminal the label is complete");
    delete(&case, &nodes);
}

#[test]
fn a_long_host_name_is_truncated_and_the_pid_kept() {
    let case = Case::new("long-host");
    let nodes = [
        contender(&case, "ip-10-0-12-34.eu-central-1.compute.internal", "deploy"),
        contender(&case, "h", "job"),
    ];
    for columns in [60, 40] {
        let screen = on_terminal(&case, columns, &[("TERM", "dumb")]);
        let lines: Vec<&str> = screen.lines().collect();
        assert!(!lines[0].contains("USER"), "{screen}");
        assert!(lines[2].contains("ip-1") && lines[2].ends_with("…:4194303"), "{screen}");
        assert!(lines[3].ends_with("h:4194303"), "{screen}");
        assert!(lines.iter().all(|line| console::measure_text_width(line) <= columns), "{screen}");
    }
    delete(&case, &nodes);
}

#[test]
fn a_narrow_watch_without_a_connection_keeps_its_top_visible() {
    let proxy = Proxy::to(shared());
    let case = Case::new("watch-narrow").through(&proxy.connect_string());
    let nodes: Vec<String> = (0..9).map(|number| contender(&case, "h", &format!("job {number}."))).collect();
    let mut terminal = watch(&case, 8, 40);
    terminal.expect("more\r\n", DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    terminal.expect("no connection to the servers", DEADLINE);
    terminal.expect("more\r\n", DEADLINE);
    let lines = screen_lines(&terminal);
    assert!(lines.len() == 7 && lines[0].starts_with("no connection to the servers"), "{lines:#?}");
    assert!(lines.iter().all(|line| console::measure_text_width(line) <= 40), "{lines:#?}");
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
    delete(&case, &nodes);
}

#[test]
fn a_watch_follows_the_size_of_its_terminal() {
    let case = Case::new("watch-resized");
    let nodes: Vec<String> = (0..30).map(|number| contender(&case, "h", &format!("job {number}."))).collect();
    let mut terminal = watch(&case, 12, 120);
    terminal.expect("more\r\n", DEADLINE);
    terminal.resize(20, 60);
    terminal.expect("\x1b[3J", DEADLINE);
    terminal.expect("more\r\n", DEADLINE);
    let lines = screen_lines(&terminal);
    assert_eq!(lines.len(), 19, "{lines:#?}");
    assert!(lines.iter().all(|line| console::measure_text_width(line) <= 60), "{lines:#?}");
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
    delete(&case, &nodes);
}

#[test]
fn without_a_watch_a_long_queue_is_shown_whole() {
    let case = Case::new("whole");
    let nodes: Vec<String> = (0..40).map(|number| contender(&case, "h", &format!("job {number}."))).collect();
    let text = on_terminal(&case, 80, &[("TERM", "xterm")]);
    assert!((0..40).all(|number| text.contains(&format!("job {number}."))), "{text}");
    assert!(!text.contains("more"), "{text}");
    delete(&case, &nodes);
}

#[test]
fn a_watch_keeps_its_top_visible() {
    let case = Case::new("watch-top");
    let nodes: Vec<String> = (0..30).map(|number| contender(&case, "h", &format!("job {number}."))).collect();
    let mut terminal = watch(&case, 12, 80);
    terminal.expect("... and 22 more\r\n", DEADLINE);
    let lines = screen_lines(&terminal);
    assert!(lines.len() == 11 && lines[0].contains("POS") && lines[2].contains("job 0."), "{lines:#?}");
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
    delete(&case, &nodes);
}

#[test]
fn a_watch_without_a_connection_shows_since_when() {
    let proxy = Proxy::to(shared());
    let case = Case::new("watch-old").through(&proxy.connect_string());
    let node = contender(&case, "h", "job");
    let mut terminal = watch(&case, 24, 100);
    terminal.expect("job", DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    terminal.expect("no connection to the servers since 20", DEADLINE);
    terminal.expect("Z: this may be old\r\n", DEADLINE);
    terminal.expect("job", DEADLINE);
    proxy.refuse_new(false);
    terminal.expect("\x1b[3J", DEADLINE);
    terminal.expect("job", DEADLINE);
    assert!(!screen_lines(&terminal).concat().contains("may be old"), "{:?}", terminal.text());
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
    case.observer().delete(&node);
}
