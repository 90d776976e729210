//! What became of the commands of each lane.

use super::lane::Lane;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) commands: usize,
    /// Calls whose command never began.
    pub(super) refused: usize,
    pub(super) completed: usize,
    /// Stopped because of the long cut, as they should be.
    pub(super) cut: usize,
    /// Stopped before that.
    pub(super) lost: usize,
    /// Of those, how many named this host as the reason.
    pub(super) busy_host: usize,
    /// In how many of either the monitor had to act.
    pub(super) by_monitor: usize,
    /// The longest delay of a confirmation while a command ran.
    pub(super) latest: Duration,
    /// The longest delay that a message named, in seconds.
    pub(super) late: f64,
}

/// Prints the names of the columns.
pub(super) fn print_head() {
    println!(
        "\n{:14} {:>3} {:4} {:>8} {:>9} {:>7} {:>5} {:>10} {:>8} {:>10} {:>11} {:>9}",
        "",
        "T",
        "",
        "commands",
        "completed",
        "refused",
        "lost",
        "named host",
        "by a cut",
        "by monitor",
        "latest (s)",
        "named (s)"
    );
}

/// Prints one row.
pub(super) fn print(lane: &Lane, row: &Row) {
    println!(
        "{:14} {:>3} {:4} {:>8} {:>9} {:>7} {:>5} {:>10} {:>8} {:>10} {:>11.1} {:>9.1}",
        lane.share.names().0,
        lane.session,
        if lane.is_cut { "cut" } else { "" },
        row.commands,
        row.completed,
        row.refused,
        row.lost,
        row.busy_host,
        row.cut,
        row.by_monitor,
        row.latest.as_secs_f64(),
        row.late,
    );
}
