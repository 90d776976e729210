//! The content of the live line, and its removal.

use super::screen::visible;
use super::{LINE, end, host, on_terminal, waiter};
use crate::support::{Case, DEADLINE, wait_until};
use std::collections::HashSet;

#[test]
fn the_live_line_shows_position_predecessor_and_what_is_left() {
    let case = Case::new("line");
    let holder = case.direct_holder(&["--label", "nightly backup"]);
    let mut waiter = waiter(&case, &["-w", "3000"], &["echo", "work"]);
    let who = format!("{}:{} (nightly backup)", host(), holder.pid());
    waiter.expect(&format!("zklock: {}: position 2, behind {who}, 49 min ", case.path()), DEADLINE);
    // It may leave out a second.
    wait_until("the shown time to be updated twice", DEADLINE, || {
        let text = waiter.text();
        let times = text.split(", 49 min ").skip(1).filter_map(|rest| rest.split_once(" s")?.0.parse().ok());
        times.collect::<HashSet<u64>>().len() >= 3
    });
    end(holder);
    assert!(waiter.wait(DEADLINE).success());
}

#[test]
fn messages_appear_above_the_live_line() {
    let case = Case::new("line-verbose");
    let holder = case.direct_holder(&["--label", "one"]);
    let mut waiter = waiter(&case, &["-v"], &["echo", "work"]);
    waiter.expect(LINE, DEADLINE);
    end(holder);
    waiter.expect("released\r\n", DEADLINE);
    assert!(waiter.wait(DEADLINE).success());
    let mut screen = visible(&waiter.text());
    // A wait for the servers is told if it lasts for a second.
    screen.retain(|line| !line.contains("connecting") && !line.contains("answer"));
    let expected = ["queued as ", "position 2, behind ", "acquired after ", "work", "released"];
    assert_eq!(screen.len(), expected.len(), "{screen:#?}");
    for (line, expected) in screen.iter().zip(expected) {
        let begins = line.starts_with(&format!("zklock: {}: {expected}", case.path()));
        assert!(begins || line == expected, "{screen:#?}");
    }
}

#[test]
fn the_live_line_is_erased_when_a_waiter_gives_up() {
    let case = Case::new("line-timeout");
    let holder = case.direct_holder(&["--label", "one"]);
    let mut late = on_terminal(&case, &["-w", "3.5"], &["echo", "work"]).in_terminal();
    late.expect(LINE, DEADLINE);
    late.expect("busy: gave up after ", DEADLINE);
    late.expect("\r\n", DEADLINE);
    assert_eq!(late.wait(DEADLINE).code(), Some(124));
    let is_erased = |screen: &[String]| screen.len() == 1 && screen[0].contains("busy: gave up");
    wait_until("the end of the output", DEADLINE, || is_erased(&visible(&late.text())));

    let mut interrupted = waiter(&case, &[], &["echo", "work"]);
    interrupted.expect(LINE, DEADLINE);
    interrupted.send(b"\x03");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&interrupted.wait(DEADLINE)), Some(2));
    let is_erased = || !visible(&interrupted.text()).iter().any(|line| line.contains(LINE));
    wait_until("the end of the output", DEADLINE, is_erased);
    end(holder);
}

#[test]
fn a_narrow_terminal_cuts_the_live_line_at_the_right() {
    let case = Case::new("line-narrow");
    let holder = case.direct_holder(&["--label", "a label that is longer than the terminal is wide"]);
    let whole = format!("zklock: {}: position 2, behind {}:{} (a label", case.path(), host(), holder.pid());
    for shown in [whole.as_str(), &whole[..whole.len() - 20]] {
        let prelude = format!("stty cols {}", shown.len());
        let zklock = case.lock(&["-w", "3000"], ["echo", "work"]).prelude(&prelude).env("TERM", "xterm");
        let mut waiter = zklock.in_terminal();
        wait_until("the line", DEADLINE, || visible(&waiter.text()) == [shown]);
        waiter.send(b"\x03");
        waiter.wait(DEADLINE);
        wait_until("the end of the output", DEADLINE, || {
            !visible(&waiter.text()).iter().any(|line| line.contains(LINE))
        });
    }
    end(holder);
}
