//! The table of `status`: a block for each lock, columns aligned across all of them.

use std::env;
use std::io::{IsTerminal, stdout};

use console::{Term, measure_text_width, pad_str, style, truncate_str};

use super::super::listing::{ListedContender, Lock, Success};
use super::super::neighbours;
use super::fold::Fold;
use crate::core::lock::name::Mode;
use crate::core::words::without_controls;
use crate::runtime::zk::ServerTime;

/// What the reader's terminal can show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Columns of the terminal; `None` is no terminal, and no limit.
    pub(super) width: Option<usize>,
    /// Lines that there is room for; `None` is no limit.
    pub(super) height: Option<usize>,
    /// Whether long queues are folded: for people, who want to see every lock.
    pub(super) folds: bool,
    pub(super) colour: bool,
}

impl Style {
    /// What stdout can show. `NO_COLOR` (no-color.org) is respected.
    pub(super) fn of_stdout() -> Self {
        let terminal = stdout().is_terminal();
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let width = terminal.then(|| usize::from(Term::stdout().size().1));
        Self { width, height: None, folds: terminal, colour: terminal && !no_color && !dumb }
    }

    /// The text on one line that doesn't wrap.
    pub(super) fn cut(self, text: &str) -> String {
        self.width.map_or_else(|| text.to_owned(), |width| truncate_str(text, width, "…").into_owned()) + "\n"
    }

    /// So many rows a line takes that may wrap.
    pub(super) fn rows(self, text: &str) -> usize {
        self.width.map_or(1, |width| measure_text_width(text).div_ceil(width.max(1)).max(1))
    }

    /// The same for a screen that shows nothing else but `beside` lines, and never scrolls.
    pub(super) fn on_screen(self, beside: usize) -> Self {
        // The cursor stands on a line of its own.
        let rows = || usize::from(Term::stdout().size().0).saturating_sub(1 + beside);
        Self { height: self.folds.then(rows), ..self }
    }
}

/// A column, and in which order columns go when there is no room for all: the highest first. Zero always stays.
struct Column {
    title: &'static str,
    goes: u8,
    cell: fn(&ListedContender) -> String,
}

/// From here on columns go before a label is cut: they are wide, and seldom asked for.
const SELDOM: u8 = 7;

/// A label is cut to so much before any other column goes.
const LABEL: usize = 10;

const RUNS: &str = "RUNS";

/// Its host name is cut when nothing else can be: the process id stays.
const PLACE: &str = "HOST:PID";

const COLUMNS: [Column; 11] = [
    Column { title: "POS", goes: 0, cell: |contender| contender.position.to_string() },
    Column { title: "STATE", goes: 0, cell: |contender| state(contender).to_owned() },
    Column { title: "MODE", goes: 4, cell: |contender| mode(contender.mode) },
    Column { title: PLACE, goes: 0, cell: |contender| contender.owner.place() },
    Column {
        title: "USER",
        goes: 6,
        cell: |contender| contender.owner.user.clone().unwrap_or_else(|| "-".to_owned()),
    },
    Column { title: RUNS, goes: 0, cell: |contender| work(contender).to_owned() },
    Column { title: "SINCE", goes: 2, cell: |contender| time(contender.since) },
    Column { title: "HELD SINCE", goes: 3, cell: |contender| time(contender.held_since) },
    Column { title: "TOKEN", goes: 5, cell: |contender| known(contender.fencing_token) },
    Column {
        title: "SESSION",
        goes: 7,
        cell: |contender| known(contender.session.map(|id| format!("{id:#x}"))),
    },
    Column { title: "NODE", goes: 8, cell: |contender| node_name(contender) },
];

const INDENT: &str = "  ";
const GAP: &str = "  ";

/// The locks as people read them.
pub(super) fn text(locks: &[Lock], style: &Style) -> String {
    if locks.is_empty() {
        return "no locks\n".to_owned();
    }
    let fold = fold(locks, style);
    let shown = |lock: &'_ Lock| fold.shown(lock.contenders().len());
    let rows: Vec<&ListedContender> =
        locks.iter().flat_map(|lock| lock.contenders().iter().take(shown(lock))).collect();
    let columns = fitting(&rows, style.width);
    let mut lines = vec![];
    if locks.iter().any(|lock| !lock.contenders().is_empty()) {
        lines.push(line(&columns, |column| column.title.to_owned()));
    }
    for lock in locks {
        lines.push(heading(lock, style));
        let (contenders, more) = lock.contenders().split_at(shown(lock));
        lines.extend(contenders.iter().map(|contender| row(&columns, contender, style)));
        if !more.is_empty() {
            lines.push(format!("{INDENT}... {} more", more.len()));
        }
    }
    if let Some(height) = style.height.filter(|&height| height < lines.len()) {
        let more = lines.split_off(height.saturating_sub(1)).len();
        lines.push(format!("... {more} more lines"));
    }
    let cut = |line: &String| match style.width {
        Some(width) => truncate_str(line, width, "…").into_owned(),
        None => line.clone(),
    };
    lines.iter().map(cut).map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn fold(locks: &[Lock], style: &Style) -> Fold {
    if !style.folds {
        return Fold::Never;
    }
    let lengths: Vec<usize> = locks.iter().map(|lock| lock.contenders().len()).collect();
    Fold::fitting(&lengths, style.height)
}

/// The columns that there is room for, each with its width.
fn fitting(rows: &[&ListedContender], room: Option<usize>) -> Vec<(&'static Column, usize)> {
    let width = |column: &Column| {
        let widths = rows.iter().map(|row| measure_text_width(&(column.cell)(row)));
        widths.chain([column.title.len()]).max().unwrap_or(0)
    };
    let mut columns: Vec<(&Column, usize)> = COLUMNS.iter().map(|column| (column, width(column))).collect();
    let Some(room) = room else { return columns };
    loop {
        let needed: usize = columns.iter().map(|(_, width)| width + GAP.len()).sum();
        let over = needed.saturating_sub(room);
        let next = columns.iter().map(|(column, _)| column.goes).max().unwrap_or(0);
        let label = columns.iter_mut().find(|(column, _)| column.title == RUNS).map(|(_, width)| width);
        match label {
            _ if over == 0 => return columns,
            Some(width) if next == 0 || next < SELDOM && *width >= LABEL + over => {
                let narrowed = width.saturating_sub(over).max(RUNS.len()).min(*width);
                let over = over - (*width - narrowed);
                *width = narrowed;
                if let Some((_, width)) = columns.iter_mut().find(|(column, _)| column.title == PLACE) {
                    *width = width.saturating_sub(over).max(PLACE.len());
                }
                return columns;
            }
            _ => columns.retain(|(column, _)| column.goes != next),
        }
    }
}

fn line(columns: &[(&Column, usize)], cell: impl Fn(&Column) -> String) -> String {
    let cells = columns.iter().map(|(column, width)| {
        let text = cell(column);
        let text = if column.title == PLACE { cut_host(&text, *width) } else { text };
        pad_str(&text, *width, console::Alignment::Left, Some("…")).into_owned()
    });
    format!("{INDENT}{}", cells.collect::<Vec<_>>().join(GAP))
}

/// The same within so many columns, with the whole process id.
fn cut_host(place: &str, width: usize) -> String {
    match place.rsplit_once(':') {
        Some((host, pid)) if measure_text_width(place) > width => {
            format!("{}:{pid}", truncate_str(host, width.saturating_sub(pid.len() + 1), "…"))
        }
        _ => place.to_owned(),
    }
}

fn row(columns: &[(&Column, usize)], contender: &ListedContender, style: &Style) -> String {
    let text = line(columns, |column| (column.cell)(contender));
    if contender.holds && style.colour {
        console::style(text).green().force_styling(true).to_string()
    } else {
        text
    }
}

fn heading(lock: &Lock, how: &Style) -> String {
    let path = without_controls(&lock.path);
    let path = if how.colour { style(path).bold().force_styling(true).to_string() } else { path };
    let holders = lock.contenders().iter().filter(|contender| contender.holds).count();
    let waiting = lock.contenders().len() - holders;
    let beside = neighbours::told(&lock.neighbours);
    let state = match (holders, waiting) {
        (0, 0) if lock.contenders.is_none() => "hidden: no permission to list the queue (READ)".to_owned(),
        (0, 0) if beside.is_empty() => "free".to_owned(),
        (0, 0) => format!("used by {beside}"),
        (holders, 0) => format!("held by {holders}"),
        (holders, waiting) => format!("held by {holders}, {waiting} waiting"),
    };
    let beside = if beside.is_empty() || state.starts_with("used") {
        String::new()
    } else {
        format!("; also used by {beside}")
    };
    let last = lock.last_success.as_ref().map(last_success).unwrap_or_default();
    format!("{path}  {state}{beside}{last}")
}

fn last_success(last: &Success) -> String {
    format!("; last success {} on {}", time(last.at), last.owner.place())
}

fn state(contender: &ListedContender) -> &'static str {
    let asked = contender.owner.asked_to_stop;
    match (contender.holds, asked, contender.owner.stopped) {
        (true, true, _) => "held, asked to stop",
        (true, false, true) => "held, stopped",
        (true, false, false) => "held",
        (false, _, true) => "waiting, stopped",
        (false, _, false) => "waiting",
    }
}

/// What runs. A node that can't be read says nothing.
fn work(contender: &ListedContender) -> &str {
    if contender.is_hidden() { "(hidden)" } else { contender.owner.work() }
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

pub(super) fn time(time: Option<ServerTime>) -> String {
    known(time.map(|time| seconds(&time.to_string())))
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Slots(slots) => format!("slots {slots}"),
        other => other.to_string(),
    }
}

fn node_name(contender: &ListedContender) -> String {
    without_controls(contender.node.name())
}

/// A time without its milliseconds.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
        None => time.to_owned(),
    }
}
