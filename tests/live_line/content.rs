//! The content of the live line, and its removal.

use super::screen::visible;
use super::{LINE, end, holder, host, on_terminal, second, waiter};
use crate::support::{Case, DEADLINE, wait_until};
use std::collections::HashSet;

#[test]
fn the_live_line_shows_position_times_and_holder() {
    let case = Case::new("line");
    let holder = holder(&case, "nightly backup");
    let mut waiter = waiter(&case, &["-w", "3000"], &["echo", "work"]);
    waiter.expect(&format!("zklock: {}: position 2, waiting ", case.path()), DEADLINE);
    waiter.expect(" min ", DEADLINE);
    waiter.expect(" s left; held by ", DEADLINE);
    let owner = format!("{}:{} (nightly backup), queued ", host(), holder.pid());
    assert_eq!(waiter.expect(&owner, DEADLINE), "");
    // A busy machine may leave out a second.
    wait_until("the shown time to be updated twice", DEADLINE, || {
        let text = waiter.text();
        let times = text.split(", waiting ").skip(1).filter_map(|rest| rest.split_once(" s")?.0.parse().ok());
        times.collect::<HashSet<u64>>().len() >= 3
    });
    end(holder);
    assert!(waiter.wait(DEADLINE).success());
}

#[test]
fn the_live_line_is_erased_before_the_command_starts() {
    let case = Case::new("line-gone");
    let holder = holder(&case, "one");
    let mut waiter = waiter(&case, &[], &["sh", "-c", "echo work; echo more"]);
    waiter.expect(LINE, DEADLINE);
    end(holder);
    waiter.expect("more\r\n", DEADLINE);
    assert!(waiter.wait(DEADLINE).success());
    assert_eq!(visible(&waiter.text()), ["work", "more"]);
    let (_, after) = waiter.text().rsplit_once("work").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(!after.contains(LINE) && !after.contains('\x1b'), "{after:?}");
}

#[test]
fn the_live_line_shows_holder_and_predecessor_and_follows_the_queue() {
    let case = Case::new("line-third");
    let holder = holder(&case, "one");
    let second = second(&case, "two");
    let mut third = waiter(&case, &[], &["echo", "work"]);
    third.expect("position 3, waiting ", DEADLINE);
    third.expect(&format!("held by {}:{} (one), queued ", host(), holder.pid()), DEADLINE);
    third.expect(&format!("; behind {}:{} (two)", host(), second.pid()), DEADLINE);
    end(second);
    third.expect("position 2, waiting ", DEADLINE);
    third.expect(&format!("held by {}:{} (one)", host(), holder.pid()), DEADLINE);
    end(holder);
    assert!(third.wait(DEADLINE).success());
    wait_until("the end of the output", DEADLINE, || visible(&third.text()) == ["work"]);
}

#[test]
fn messages_appear_above_the_live_line() {
    let case = Case::new("line-verbose");
    let holder = holder(&case, "one");
    let mut waiter = waiter(&case, &["-v"], &["echo", "work"]);
    waiter.expect(LINE, DEADLINE);
    end(holder);
    waiter.expect("released\r\n", DEADLINE);
    assert!(waiter.wait(DEADLINE).success());
    let mut screen = visible(&waiter.text());
    // On a busy machine a wait for the servers may be told too.
    screen.retain(|line| !line.contains("connecting") && !line.contains("answer"));
    let expected = ["queued as ", "waiting for ", "acquired after ", "work", "released"];
    assert_eq!(screen.len(), expected.len(), "{screen:#?}");
    for (line, expected) in screen.iter().zip(expected) {
        let begins = line.starts_with(&format!("zklock: {}: {expected}", case.path()));
        assert!(begins || line == expected, "{screen:#?}");
    }
}

#[test]
fn the_live_line_is_erased_when_a_waiter_gives_up() {
    let case = Case::new("line-timeout");
    let holder = holder(&case, "one");
    let mut late = on_terminal(&case, &["-w", "3.5"], &["echo", "work"]).in_terminal();
    late.expect(LINE, DEADLINE);
    late.expect("busy: gave up after ", DEADLINE);
    late.expect("\r\n", DEADLINE);
    assert_eq!(late.wait(DEADLINE).code(), Some(124));
    let is_erased = || !visible(&late.text()).iter().any(|line| line.contains(LINE));
    wait_until("the end of the output", DEADLINE, is_erased);
    let screen = visible(&late.text());
    assert!(screen.len() == 1 && screen[0].contains("busy: gave up"), "{screen:#?}");

    let mut interrupted = waiter(&case, &[], &["echo", "work"]);
    interrupted.expect(LINE, DEADLINE);
    interrupted.send(b"\x03");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&interrupted.wait(DEADLINE)), Some(2));
    let is_erased = || !visible(&interrupted.text()).iter().any(|line| line.contains(LINE));
    wait_until("the end of the output", DEADLINE, is_erased);
    end(holder);
}

/// Label and path are longer than the terminal is wide.
#[test]
fn the_live_line_keeps_the_holders_host_and_pid_on_a_narrow_terminal() {
    let case = Case::new("a-lock-path-that-is-longer-than-these-terminals-are-wide");
    let holder = holder(&case, "a label that is longer than the terminal is wide");
    let owner = format!("{}:{}", host(), holder.pid());
    let position = format!("position 2, held by {owner}");
    for (columns, options, shown) in [
        (owner.len() + 50, &["-w", "3000"][..], " s left; held by "),
        (owner.len() + 50, &[], "position 2, waiting "),
        (position.len(), &["-w", "3000"], &position),
        (owner.len(), &[], &owner),
    ] {
        let zklock = case.lock(options, ["echo", "work"]).prelude(&format!("stty cols {columns}"));
        let mut waiter = zklock.env("TERM", "xterm").in_terminal();
        waiter.expect(shown, DEADLINE);
        wait_until("the holder", DEADLINE, || waiter.text().contains(&owner));
        let fits = |line: &String| line.chars().count() <= columns;
        // For a moment the line is erased, before it is drawn again.
        wait_until("one line", DEADLINE, || {
            let screen = visible(&waiter.text());
            assert!(screen.iter().all(fits), "{columns}: {screen:?}");
            screen.len() == 1
        });
        waiter.send(b"\x03");
        waiter.wait(DEADLINE);
        let is_erased = || !visible(&waiter.text()).iter().any(|line| line.contains(&owner));
        wait_until("the end of the output", DEADLINE, is_erased);
    }
    end(holder);
}

#[test]
fn control_characters_in_a_label_are_not_printed_in_the_live_line() {
    let case = Case::new("line-hostile");
    let data = serde_json::json!({
        "version": 1, "host": "h\u{1b}[2J", "pid": 1, "user": "u", "program": "p", "label": "a\u{7}\r\nb",
        "mode": "exclusive", "slots": 1,
    });
    let ahead = case.add_contender(&data.to_string());
    let mut waiter = on_terminal(&case, &[], &["echo", "work"]).in_terminal();
    waiter.expect("held by h?[2J:1 (a???b)", DEADLINE);
    case.observer().delete(&ahead);
    assert!(waiter.wait(DEADLINE).success());
}
