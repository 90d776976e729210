//! Draws the live line: on a narrow terminal, details, label and path are cut first, the holder's process id never.

use std::env;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use console::{Term, measure_text_width, truncate_str};
use nix::unistd::{Pid, tcgetpgrp};
use zklock_core::message::before_silence;
use zklock_core::path::LockPath;
use zklock_core::run::{Line, WaitingLine};
use zklock_core::server_wait::ServerWait;
use zklock_core::text::whole;

use crate::output::buffer;

/// A shorter rest of a path isn't worth showing.
const LEAST_OF_PATH: usize = 8;

/// Nor is a shorter rest of a label.
const LEAST_OF_LABEL: usize = 5;

/// A longer host name is cut before anything but details, label and path is left out.
const MOST_OF_NAME: usize = 26;

/// Whether stderr is a terminal that can show the line, and `--quiet` doesn't hide it.
pub fn can_draw_line() -> bool {
    // A dumb terminal can't erase a line.
    let smart = env::var_os("TERM").is_some_and(|term| term != "dumb");
    smart && stderr().is_terminal() && log::log_enabled!(log::Level::Warn)
}

/// Shows this line below all other output, if the process group is in the terminal's foreground.
pub fn draw_line(line: &Line, group: Pid) {
    if tcgetpgrp(stderr()).is_ok_and(|foreground| foreground == group) {
        let columns = Term::stderr().size_checked().map(|(_, columns)| usize::from(columns));
        let columns = columns.filter(|&columns| columns > 0);
        buffer::line(Some(match line {
            Line::Queue(line) => fit(line, columns),
            Line::Servers { path, wait } => fit_wait(path, wait, columns),
        }));
    }
}

/// Shows this text below all other output, or removes it. When this returns, it is removed.
pub fn draw_text(text: Option<String>, group: Pid) {
    match text {
        Some(text) if tcgetpgrp(stderr()).is_ok_and(|foreground| foreground == group) => {
            buffer::line(Some(format!("zklock: {text}")));
        }
        Some(_) => {}
        None => {
            erase_line();
            buffer::drain();
        }
    }
}

/// Removes the line from the screen.
pub fn erase_line() {
    buffer::line(None);
}

/// The line of a wait for the servers: what they said is cut first, at the end.
fn fit_wait(path: &LockPath, wait: &ServerWait, columns: Option<usize>) -> String {
    let wait = wait.to_string();
    let columns = columns.unwrap_or(usize::MAX);
    let times = wait.split("; ").next().unwrap_or_default();
    let heads = [format!("zklock: {path}: "), "zklock: ".to_owned(), String::new()];
    let fits = |head: &&String| measure_text_width(head) + measure_text_width(times) <= columns;
    let head = heads.iter().find(fits).map_or("", String::as_str);
    truncate_str(&format!("{head}{wait}"), columns, "…").into_owned()
}

/// The line for a terminal with this many columns; `None`: unlimited.
fn fit(line: &WaitingLine, columns: Option<usize>) -> String {
    let path = line.path.as_str();
    let full = format!("{}{}{}", head(line, path), line.who, line.details);
    let columns = columns.unwrap_or(usize::MAX);
    if measure_text_width(&full) <= columns {
        return full;
    }
    let (name, label) = match line.who.split_once(" (") {
        Some((name, label)) => (name, label.strip_suffix(')')),
        None => (line.who.as_str(), None),
    };
    let room_beside = |head: &str| columns.saturating_sub(measure_text_width(head));
    let least = measure_text_width(&cut_name(name, MOST_OF_NAME));
    let whole_head = head(line, path);
    if room_beside(&whole_head) >= least {
        let line = format!("{whole_head}{}", cut_name(name, room_beside(&whole_head)));
        return label.map_or_else(|| line.clone(), |label| with_label(&line, label, columns));
    }
    let for_path = room_beside(&head(line, "")).saturating_sub(least);
    let mut heads = short_heads(line);
    if for_path >= LEAST_OF_PATH {
        heads.insert(0, head(line, &end_of(path, for_path)));
    }
    let fitting = heads.iter().find(|head| room_beside(head) >= least);
    let head = fitting.or(heads.last()).map_or("", String::as_str);
    format!("{head}{}", cut_name(name, room_beside(head)))
}

fn relation(line: &WaitingLine) -> &'static str {
    if line.is_holder { "held by" } else { "behind" }
}

fn head(line: &WaitingLine, path: &str) -> String {
    format!("zklock: {path}: {}", position_and_times(line, whole))
}

fn position_and_times(line: &WaitingLine, shown: fn(Duration) -> String) -> String {
    let (waited, left) = (shown(line.waited), left_as(line, shown));
    let silence = line.silent_for.map(before_silence).unwrap_or_default();
    format!("position {}, waiting {waited}{left}; {silence}{} ", line.position, relation(line))
}

fn left_as(line: &WaitingLine, shown: fn(Duration) -> String) -> String {
    line.left.map(|left| format!(", {} left", shown(left))).unwrap_or_default()
}

/// What comes before the holder, ever shorter.
fn short_heads(line: &WaitingLine) -> Vec<String> {
    let (position, left) = (line.position, left_as(line, coarse));
    let waited = match line.silent_for {
        None => format!(", {}", coarse(line.waited)),
        Some(span) => format!(", no answer for {}", coarse(span)),
    };
    let relation = relation(line);
    let before_name = if line.is_holder { ": ".to_owned() } else { format!("; {relation} ") };
    let time = if line.left.is_some() { &left } else { &waited };
    vec![
        format!("zklock: {}", position_and_times(line, whole)),
        format!("zklock: {}", position_and_times(line, coarse)),
        position_and_times(line, coarse),
        format!("position {position}{waited}{left}; {relation} "),
        format!("position {position}{time}{before_name}"),
    ]
}

/// The time in its largest unit: `4 min`.
fn coarse(span: Duration) -> String {
    let text = whole(span);
    let end = text.match_indices(' ').nth(1).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default().to_owned()
}

/// `host:pid` cut to this width, with the whole process id, or another name cut at its end.
fn cut_name(name: &str, width: usize) -> String {
    match name.rsplit_once(':') {
        _ if measure_text_width(name) <= width => name.to_owned(),
        Some((host, pid)) if pid.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{}:{pid}", truncate_str(host, width.saturating_sub(pid.len() + 1), "…"))
        }
        _ => truncate_str(name, width, "…").into_owned(),
    }
}

fn with_label(line: &str, label: &str, columns: usize) -> String {
    let room = columns.saturating_sub(measure_text_width(line) + " ()".len());
    if room < LEAST_OF_LABEL.min(measure_text_width(label)) {
        return line.to_owned();
    }
    format!("{line} ({})", truncate_str(label, room, "…"))
}

/// The end of a path, in this width.
fn end_of(path: &str, width: usize) -> String {
    let mut rest = path;
    while measure_text_width(rest) + 1 > width {
        let mut chars = rest.chars();
        if chars.next().is_none() {
            break;
        }
        rest = chars.as_str();
    }
    format!("…{rest}")
}

#[cfg(test)]
mod tests {
    use zklock_core::server_wait::Awaited;

    use super::*;

    fn parts(path: &str, who: &str, waited: u64, left: Option<u64>) -> WaitingLine {
        WaitingLine {
            path: LockPath::parse(path.as_ref()).unwrap(),
            position: 2,
            waited: Duration::from_secs(waited),
            left: left.map(Duration::from_secs),
            silent_for: None,
            is_holder: true,
            who: who.to_owned(),
            details: " for 10 s, queued 4 min 10 s ago".to_owned(),
        }
    }

    #[test]
    fn details_then_the_label_then_the_path_are_cut() {
        let parts = parts("/locks/deploy", "vm:27259 (build 1041)", 12, None);
        for (columns, expected) in [
            (
                None,
                "zklock: /locks/deploy: position 2, waiting 12 s; held by vm:27259 (build 1041) for 10 s, queued \
                 4 min 10 s ago",
            ),
            (Some(80), "zklock: /locks/deploy: position 2, waiting 12 s; held by vm:27259 (build 1041)"),
            (Some(75), "zklock: /locks/deploy: position 2, waiting 12 s; held by vm:27259 (build …)"),
            (Some(70), "zklock: /locks/deploy: position 2, waiting 12 s; held by vm:27259"),
            (Some(60), "zklock: …/deploy: position 2, waiting 12 s; held by vm:27259"),
            (Some(50), "zklock: position 2, waiting 12 s; held by vm:27259"),
            (Some(45), "position 2, waiting 12 s; held by vm:27259"),
            (Some(40), "position 2, 12 s; held by vm:27259"),
            (Some(30), "position 2, 12 s: vm:27259"),
        ] {
            assert_eq!(fit(&parts, columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn the_time_left_stays_too() {
        let parts = parts("/locks/deploy", "web-1:27259 (build 1041)", 730, Some(2_870));
        for (columns, expected) in [
            (80, "zklock: position 2, waiting 12 min 10 s, 47 min 50 s left; held by web-1:27259"),
            (70, "zklock: position 2, waiting 12 min, 47 min left; held by web-1:27259"),
            (60, "position 2, waiting 12 min, 47 min left; held by web-1:27259"),
            (55, "position 2, 12 min, 47 min left; held by web-1:27259"),
            (40, "position 2, 47 min left: web-1:27259"),
            (35, "position 2, 47 min left: web…:27259"),
        ] {
            assert_eq!(fit(&parts, Some(columns)), expected, "{columns}");
        }
    }

    #[test]
    fn the_pid_fits_60_and_40_columns_whatever_the_rest() {
        let long = "x".repeat(60);
        for path in ["/a", "/locks/deploy-staging", &format!("/{long}"), "/locks/日本語の名前"] {
            for host in ["vm", "web-1", "ip-10-20-30-40.eu-central-1.compute.internal", "日本語の名前日本語"]
            {
                for label in ["sh", "a label that is longer than the terminal is wide", "a) (b"] {
                    for (waited, left) in [(0, None), (8_000, None), (5, Some(2)), (86_000, Some(90_000))] {
                        let parts = parts(path, &format!("{host}:4194304 ({label})"), waited, left);
                        for columns in [60, 40] {
                            let text = fit(&parts, Some(columns));
                            assert!(measure_text_width(&text) <= columns, "{text}");
                            assert!(text.contains(":4194304") && text.contains("position 2"), "{text}");
                            let first: String = host.chars().take(2).collect();
                            assert!(text.contains(&first), "{text}");
                            assert_eq!(text.contains(" left"), left.is_some(), "{text}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_silence_of_the_servers_comes_before_what_was_known() {
        let parts = WaitingLine {
            silent_for: Some(Duration::from_secs(22)),
            details: " for 22 s; zk1:2181: connection refused".to_owned(),
            ..parts("/locks/deploy", "vm:27259 (build 1041)", 43, None)
        };
        for (columns, expected) in [
            (
                None,
                "zklock: /locks/deploy: position 2, waiting 43 s; no answer from the servers for 22 s, before that \
                 held by vm:27259 (build 1041) for 22 s; zk1:2181: connection refused",
            ),
            (
                Some(95),
                "position 2, waiting 43 s; no answer from the servers for 22 s, before that held by vm:27259",
            ),
            (Some(60), "position 2, no answer for 22 s; held by vm:27259"),
            (Some(40), "position 2, no answer for 22 s: vm:27259"),
        ] {
            assert_eq!(fit(&parts, columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn of_a_wait_for_the_servers_the_times_stay() {
        let path = LockPath::parse("/locks/deploy".as_ref()).unwrap();
        let wait = ServerWait {
            awaited: Awaited::Session,
            waited: Duration::from_secs(3),
            left: Some(Duration::from_secs(7)),
            ready_in: None,
            holds: false,
            hosts: "zk1:2181".to_owned(),
            servers: vec!["zk1:2181: connection refused; nothing listens there".to_owned()],
        };
        for (columns, expected) in [
            (None, "zklock: /locks/deploy: connecting for 3 s, 7 s left; zk1:2181: connection refused"),
            (Some(60), "zklock: /locks/deploy: connecting for 3 s, 7 s left; zk1:21…"),
            (Some(40), "zklock: connecting for 3 s, 7 s left; z…"),
            (Some(30), "connecting for 3 s, 7 s left;…"),
        ] {
            assert_eq!(fit_wait(&path, &wait, columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn a_holder_without_a_pid_is_cut_at_its_end() {
        let parts =
            parts("/locks/job", "node _c_4d3f89d0-7b59-451a-8a18-0241c87403ba-lock-0000000011", 1, None);
        assert_eq!(fit(&parts, Some(60)), "position 2, waiting 1 s; held by node _c_4d3f89d0-7b59-451a…");
    }

    #[test]
    fn the_contender_ahead_is_not_called_the_holder() {
        let parts = WaitingLine { is_holder: false, ..parts("/locks/job", "vm:27259 (x)", 1, Some(9)) };
        for columns in [None, Some(60), Some(40), Some(20)] {
            assert!(fit(&parts, columns).contains("; behind "), "{columns:?}");
        }
    }
}
