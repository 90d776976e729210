//! The table of `status`: a block for each lock, columns aligned across all of them.

use std::env;
use std::io::{IsTerminal, stdout};

use console::{Term, measure_text_width, pad_str, style, truncate_str};

use super::super::neighbours;
use super::super::survey::{Contender, Lock, Success};
use crate::core::lock::name::Mode;
use crate::core::words::without_controls;
use crate::runtime::zk::ServerTime;

/// What the reader's terminal can show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Columns of the terminal; `None` is no terminal, and no limit.
    pub(super) width: Option<usize>,
    pub(super) colour: bool,
}

impl Style {
    /// What stdout can show. `NO_COLOR` (no-color.org) is respected.
    pub(super) fn of_stdout() -> Self {
        let terminal = stdout().is_terminal();
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let width = terminal.then(|| usize::from(Term::stdout().size().1));
        Self { width, colour: terminal && !no_color && !dumb }
    }
}

/// A column, and in which order columns go when there is no room for all: the highest first.
struct Column {
    title: &'static str,
    goes: u8,
    cell: fn(&Contender) -> String,
}

const COLUMNS: [Column; 11] = [
    Column { title: "POS", goes: 0, cell: |contender| contender.position.to_string() },
    Column { title: "STATE", goes: 0, cell: |contender| state(contender).to_owned() },
    Column { title: "MODE", goes: 4, cell: |contender| mode(contender.mode) },
    Column { title: "HOST:PID", goes: 1, cell: |contender| contender.owner.place() },
    Column {
        title: "USER",
        goes: 6,
        cell: |contender| contender.owner.user.clone().unwrap_or_else(|| "-".to_owned()),
    },
    Column { title: "RUNS", goes: 0, cell: |contender| work(contender).to_owned() },
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
    let rows: Vec<&Contender> = locks.iter().flat_map(Lock::contenders).collect();
    let columns = fitting(&rows, style.width);
    let mut lines = vec![];
    if !rows.is_empty() {
        lines.push(line(&columns, |column| column.title.to_owned()));
    }
    for lock in locks {
        lines.push(heading(lock, style));
        lines.extend(lock.contenders().iter().map(|contender| row(&columns, contender, style)));
    }
    let cut = |line: &String| match style.width {
        Some(width) => truncate_str(line, width, "…").into_owned(),
        None => line.clone(),
    };
    lines.iter().map(cut).map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The columns that there is room for, each with its width.
fn fitting(rows: &[&Contender], room: Option<usize>) -> Vec<(&'static Column, usize)> {
    let width = |column: &Column| {
        let widths = rows.iter().map(|row| measure_text_width(&(column.cell)(row)));
        widths.chain([column.title.len()]).max().unwrap_or(0)
    };
    let mut columns: Vec<(&Column, usize)> = COLUMNS.iter().map(|column| (column, width(column))).collect();
    while let Some(room) = room
        && columns.iter().map(|(_, width)| width + GAP.len()).sum::<usize>() > room
        && let Some(least) = columns.iter().map(|(column, _)| column.goes).max().filter(|goes| *goes > 0)
    {
        columns.retain(|(column, _)| column.goes != least);
    }
    columns
}

fn line(columns: &[(&Column, usize)], cell: impl Fn(&Column) -> String) -> String {
    let cells = columns
        .iter()
        .map(|(column, width)| pad_str(&cell(column), *width, console::Alignment::Left, None).into_owned());
    format!("{INDENT}{}", cells.collect::<Vec<_>>().join(GAP))
}

fn row(columns: &[(&Column, usize)], contender: &Contender, style: &Style) -> String {
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

fn state(contender: &Contender) -> &'static str {
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
fn work(contender: &Contender) -> &str {
    if contender.is_hidden() { "(hidden)" } else { contender.owner.work() }
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn time(time: Option<ServerTime>) -> String {
    known(time.map(|time| seconds(&time.to_string())))
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Slots(slots) => format!("slots {slots}"),
        other => other.to_string(),
    }
}

fn node_name(contender: &Contender) -> String {
    without_controls(contender.node.rsplit('/').next().unwrap_or_default())
}

/// A time without its milliseconds.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
        None => time.to_owned(),
    }
}
