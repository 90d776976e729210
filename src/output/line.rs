//! The live line: its parts share the columns of the terminal in the order of their importance.

use std::env;
use std::io::{IsTerminal, stderr};

use console::{Term, measure_text_width, truncate_str};
use nix::unistd::{Pid, tcgetpgrp};
use zklock_core::message::before_silence;
use zklock_core::run::{Line, WaitingLine};
use zklock_core::text::whole;

use crate::output::buffer;

/// Less than this of a path or a label isn't worth showing.
const LEAST: usize = 5;

/// Whether stderr is a terminal that can show the line, and `--quiet` doesn't hide it.
pub fn can_draw_line() -> bool {
    // A dumb terminal can't erase a line.
    let smart = env::var_os("TERM").is_some_and(|term| term != "dumb");
    smart && stderr().is_terminal() && log::log_enabled!(log::Level::Warn)
}

/// Shows this line below all other output, if the process group is in the terminal's foreground.
pub fn draw_line(line: &Line, group: Pid) {
    draw(parts(line), group);
}

/// Shows this text below all other output, or removes it. When this returns, it is removed.
pub fn draw_text(text: Option<String>, group: Pid) {
    if let Some(text) = text {
        draw(of_wait(None, &text), group);
    } else {
        erase_line();
        buffer::drain(buffer::BRIEFLY);
    }
}

/// Removes the line from the screen.
pub fn erase_line() {
    buffer::line(None);
}

fn draw(parts: Vec<Part>, group: Pid) {
    if tcgetpgrp(stderr()).is_ok_and(|foreground| foreground == group) {
        let columns = Term::stderr().size_checked().map(|(_, columns)| usize::from(columns));
        let columns = columns.filter(|&columns| columns > 0);
        buffer::line(Some(fit(parts, columns.unwrap_or(usize::MAX))));
    }
}

/// A part of the line, with the separator behind or before it.
struct Part {
    /// Parts of a lower rank are more important: they get their columns first.
    rank: u8,
    text: String,
    /// What stays when the text is cut.
    end: String,
    /// The columns of the text below which it is left out.
    least: usize,
}

impl Part {
    /// A part that is shown as a whole or left out.
    fn whole(rank: u8, text: impl Into<String>) -> Self {
        Self { rank, text: text.into(), end: String::new(), least: usize::MAX }
    }

    /// A part that may be cut before this end.
    fn free(rank: u8, text: &str, end: &str) -> Self {
        let (text, end) = text.strip_suffix(end).map_or((text, ""), |text| (text, end));
        Self { rank, text: text.to_owned(), end: end.to_owned(), least: LEAST }
    }

    /// A part that may be cut, but isn't left out.
    fn kept(text: &str, end: &str) -> Self {
        Self { least: 0, ..Self::free(0, text, end) }
    }

    fn width(&self) -> usize {
        measure_text_width(&self.text) + measure_text_width(&self.end)
    }

    /// Cuts the part to this room, or leaves it out.
    fn narrow(&mut self, room: usize) {
        if self.width() <= room {
            return;
        }
        let for_text = room.saturating_sub(measure_text_width(&self.end));
        if for_text >= self.least {
            self.text = truncate_str(&self.text, for_text, "…").into_owned();
        } else {
            *self = Self::whole(self.rank, "");
        }
    }
}

/// The line for a terminal with this many columns. Behind a part that is cut or left out, no less important one is shown.
fn fit(mut parts: Vec<Part>, columns: usize) -> String {
    let mut room = columns;
    let mut by_rank: Vec<&mut Part> = parts.iter_mut().collect();
    by_rank.sort_by_key(|part| part.rank);
    for part in by_rank {
        let wanted = part.width();
        part.narrow(room);
        room = room.saturating_sub(wanted);
    }
    let line: String = parts.iter().flat_map(|part| [part.text.as_str(), &part.end]).collect();
    truncate_str(&line, columns, "").into_owned()
}

/// The parts of a line, from left to right.
fn parts(line: &Line) -> Vec<Part> {
    match line {
        Line::Queue(line) => of_queue(line),
        Line::Servers { path, wait } => of_wait(Some(path.as_str()), &wait.to_string()),
    }
}

fn of_wait(path: Option<&str>, wait: &str) -> Vec<Part> {
    let (times, said) = wait.split_at(wait.find("; ").unwrap_or(wait.len()));
    let path = path.map(|path| Part::free(2, &format!("{path}: "), ": "));
    let around = [Part::kept(times, ""), Part::free(3, said, "")];
    [Part::whole(1, "zklock: ")].into_iter().chain(path).chain(around).collect()
}

fn of_queue(line: &WaitingLine) -> Vec<Part> {
    let left = line.left.map(|left| format!("{} left; ", whole(left)));
    let waited = format!("waiting {}{}", whole(line.waited), if left.is_some() { ", " } else { "; " });
    let silence = line.silent_for.map(before_silence).unwrap_or_default();
    let (name, label) = line.who.split_at(line.who.find(" (").unwrap_or(line.who.len()));
    let pid = name.rfind(':').and_then(|colon| name.get(colon..)).unwrap_or_default();
    vec![
        Part::whole(6, "zklock: "),
        Part::free(7, &format!("{}: ", line.path), ": "),
        Part::whole(3, format!("position {}, ", line.position)),
        Part::whole(5, waited),
        Part::whole(4, left.unwrap_or_default()),
        Part::free(2, &silence, " "),
        Part::whole(1, if line.is_holder { "held by " } else { "behind " }),
        Part::kept(name, pid),
        Part::free(8, label, ")"),
        Part::free(9, &line.details, ""),
    ]
}

#[cfg(test)]
mod tests;
