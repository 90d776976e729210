//! The table of `status`: a block for each lock, columns aligned across all of them.

use std::env;
use std::io::{IsTerminal, stdout};

use console::{Term, measure_text_width, pad_str, style, truncate_str};
use zklock_core::queue::name::Mode;
use zklock_core::text::without_controls;

use super::super::listing::{ListedContender, Lock, State, Success};
use super::super::owner::place;
use crate::ensemble::ServerTime;

/// The capabilities of stdout that the table depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// The columns of the terminal; `None` means no limit, because there is no terminal.
    pub(super) width: Option<usize>,
    /// The lines that there is room for; `None` means no limit.
    pub(super) height: Option<usize>,
    pub(super) colour: bool,
}

impl Style {
    /// The style for stdout. `NO_COLOR` (no-color.org) is respected.
    pub(super) fn of_stdout() -> Self {
        let terminal = stdout().is_terminal();
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let width = terminal.then(|| usize::from(Term::stdout().size().1));
        Self { width, height: None, colour: terminal && !no_color && !dumb }
    }

    /// The text as one line, cut off where it would wrap.
    pub(super) fn cut(self, text: &str) -> String {
        self.width.map_or_else(|| text.to_owned(), |width| cut_end(text, width)) + "\n"
    }
}

/// A column of the table. If there isn't room for all columns, the last ones are left out.
struct Column {
    title: &'static str,
    cell: fn(&ListedContender) -> String,
    /// Cuts a free text, if it is one, to a width.
    cut: Option<fn(&str, usize) -> String>,
}

impl Column {
    const fn whole(title: &'static str, cell: fn(&ListedContender) -> String) -> Self {
        Self { title, cell, cut: None }
    }
}

/// A free text is left out rather than cut to less than this.
const LEAST: usize = 10;

const COLUMNS: &[Column] = &[
    Column::whole("POS", |contender| contender.position.to_string()),
    Column::whole("STATE", |contender| state(contender).to_owned()),
    Column::whole("MODE", |contender| mode(contender.mode)),
    Column { title: "HOST:PID", cell: |contender| contender.owner.place(), cut: Some(cut_host) },
    Column::whole("USER", |contender| contender.owner.user.clone().unwrap_or_else(|| "-".to_owned())),
    Column { title: "RUNS", cell: |contender| work(contender).to_owned(), cut: Some(cut_end) },
    Column::whole("SINCE", |contender| time(contender.since)),
    Column::whole("HELD SINCE", |contender| time(contender.held_since)),
    Column::whole("TOKEN", |contender| known(contender.fencing_token)),
    Column::whole("SESSION", |contender| known(contender.session.as_deref())),
    Column::whole("NODE", node_name),
];

const INDENT: &str = "  ";
const GAP: &str = "  ";

/// The table of these locks.
pub(super) fn text(locks: &[Lock], style: &Style) -> String {
    if locks.is_empty() {
        return "no locks\n".to_owned();
    }
    let rows: Vec<&ListedContender> = locks.iter().flat_map(Lock::contenders).collect();
    let columns = fitting(&rows, style.width.unwrap_or(usize::MAX));
    let mut lines = vec![];
    if !rows.is_empty() {
        lines.push(line(&columns, |column| column.title.to_owned()));
    }
    for lock in locks {
        lines.push(heading(lock, style));
        lines.extend(lock.contenders().iter().map(|contender| row(&columns, contender, style)));
    }
    if let Some(height) = style.height.filter(|&height| height < lines.len()) {
        let more = lines.split_off(height.saturating_sub(1)).len();
        lines.push(format!("... and {more} more"));
    }
    lines.iter().map(|line| style.cut(line.trim_end())).collect()
}

/// The columns that fit into `room`, each with its width.
fn fitting(rows: &[&ListedContender], room: usize) -> Vec<(&'static Column, usize)> {
    let width = |column: &Column| {
        let widths = rows.iter().map(|row| measure_text_width(&(column.cell)(row)));
        widths.chain([column.title.len()]).max().unwrap_or(0)
    };
    let mut columns: Vec<(&Column, usize)> = COLUMNS.iter().map(|column| (column, width(column))).collect();
    let needed = |columns: &[(_, usize)]| columns.iter().map(|(_, width)| GAP.len() + width).sum::<usize>();
    while needed(&columns) > room
        && let Some((last, _)) = columns.pop()
    {
        let rest = room.saturating_sub(needed(&columns) + GAP.len());
        if last.cut.is_some() && rest >= LEAST {
            columns.push((last, rest));
        }
    }
    columns
}

fn line(columns: &[(&Column, usize)], cell: impl Fn(&Column) -> String) -> String {
    let cells = columns.iter().map(|&(column, width)| {
        let text = cell(column);
        let text = if let Some(cut) = column.cut { cut(&text, width) } else { text };
        pad_str(&text, width, console::Alignment::Left, Some("…")).into_owned()
    });
    format!("{INDENT}{}", cells.collect::<Vec<_>>().join(GAP))
}

fn cut_end(text: &str, width: usize) -> String {
    truncate_str(text, width, "…").into_owned()
}

/// `host:pid` cut to this width, with the whole process id.
fn cut_host(place: &str, width: usize) -> String {
    let (host, pid) = place.split_at(place.rfind(':').unwrap_or(place.len()));
    cut_end(host, width.saturating_sub(measure_text_width(pid))) + pid
}

fn row(columns: &[(&Column, usize)], contender: &ListedContender, style: &Style) -> String {
    let text = line(columns, |column| (column.cell)(contender));
    if contender.state == State::Held && style.colour {
        console::style(text).green().force_styling(true).to_string()
    } else {
        text
    }
}

fn heading(lock: &Lock, how: &Style) -> String {
    let path = without_controls(&lock.path);
    let path = if how.colour { style(path).bold().force_styling(true).to_string() } else { path };
    let state = match &lock.contenders {
        None => "hidden: no permission to list the queue (READ)".to_owned(),
        Some(contenders) if !contenders.is_empty() => counts(contenders),
        Some(_) if lock.busy_below > 0 => {
            format!("free; locks in use below it: {}; --recursive shows them", lock.busy_below)
        }
        Some(_) => "free".to_owned(),
    };
    let last = lock.last_success.as_ref().map(last_success).unwrap_or_default();
    format!("{path}  {state}{last}")
}

/// How many contenders hold, wait, and neither.
fn counts(contenders: &[ListedContender]) -> String {
    let count = |counted: fn(State) -> bool| contenders.iter().filter(|one| counted(one.state)).count();
    let parts = [
        ("held by ", count(|state| state == State::Held), ""),
        ("", count(|state| state == State::Waiting), " waiting"),
        ("", count(|state| matches!(state, State::Unowned { .. })), " unowned"),
    ];
    let parts = parts.iter().filter(|(_, count, _)| *count > 0);
    parts.map(|(before, count, after)| format!("{before}{count}{after}")).collect::<Vec<_>>().join(", ")
}

fn last_success(last: &Success) -> String {
    format!("; last success {} on {}", time(last.at), place(last.host.as_deref(), last.pid))
}

fn state(contender: &ListedContender) -> &'static str {
    match (contender.state, contender.asked_to_stop, contender.stopped) {
        (State::Held, true, _) => "held, asked to stop",
        (State::Held, false, true) => "held, stopped",
        (State::Held, false, false) => "held",
        (State::Waiting, _, true) => "waiting, stopped",
        (State::Waiting, _, false) => "waiting",
        (State::Unowned { .. }, ..) => "unowned",
    }
}

/// The label or program; `(hidden)` for a node that can't be read.
fn work(contender: &ListedContender) -> &str {
    if contender.is_hidden() { "(hidden)" } else { contender.owner.work() }
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

pub(super) fn time(time: Option<ServerTime>) -> String {
    known(time.map(ServerTime::to_the_second))
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

#[cfg(test)]
mod tests;
