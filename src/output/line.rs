//! The live line below all messages: what zklock waits for.

use std::env;
use std::io::stderr;

use console::{Term, truncate_str};
use nix::unistd::{Pid, tcgetpgrp};
use zklock_core::text::without_controls;

use crate::output::buffer;
use crate::process::proc_stat;

/// Whether stderr is the controlling terminal and can show the line, and `--quiet` doesn't hide it.
pub fn can_draw_line() -> bool {
    // A dumb terminal can't erase a line.
    let smart = env::var_os("TERM").is_some_and(|term| term != "dumb");
    smart && tcgetpgrp(stderr()).is_ok() && log::log_enabled!(log::Level::Warn)
}

/// Shows this text below all other output, if the group of this process is in the terminal's foreground. A narrow terminal
/// cuts it at the right.
pub fn draw_line(text: &str, process: Pid) {
    if proc_stat::of(process).is_some_and(|stat| stat.foreground == Some(stat.group)) {
        let columns = Term::stderr().size_checked().map(|(_, columns)| usize::from(columns));
        let columns = columns.filter(|&columns| columns > 0).unwrap_or(usize::MAX);
        let line = without_controls(&format!("zklock: {text}"));
        buffer::line(Some(truncate_str(&line, columns, "").into_owned()));
    }
}

/// Removes the line from the screen.
pub fn erase_line() {
    buffer::line(None);
}
