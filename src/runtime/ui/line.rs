//! The live line on a terminal: position, waiting time and holder, while zklock waits.
//!
//! It costs the servers one read per wake-up, and only if the holder isn't the predecessor. Times are computed locally,
//! from the moment at which the server created zklock's own node.

use std::env;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use console::Term;
use nix::unistd::{Pid, tcgetpgrp};

use super::narrow::Parts;
use super::output;
use crate::core::path::{LockPath, NodePath};
use crate::core::protocol::ServerTime;
use crate::core::run::Seen;
use crate::core::text::whole;
use crate::core::time::BootTime;
use crate::runtime::clock;

const REDRAW: Duration = Duration::from_secs(1);

/// The line says how old its information about the holder is once that is older than this: no watch reports a change.
const FRESH: Duration = Duration::from_secs(5);

/// The live line, and the facts that it shows.
#[derive(Debug)]
pub struct WaitingLine {
    began: BootTime,
    deadline: Option<BootTime>,
    /// The line is drawn only while this process group is in the terminal's foreground.
    group: Pid,
    on_terminal: bool,
    is_shown: bool,
    next_draw: Option<BootTime>,
    /// One moment on the local clock and on the server's.
    clocks: Option<(BootTime, ServerTime)>,
    queue: Option<QueueLine>,
}

#[derive(Debug)]
struct QueueLine {
    path: LockPath,
    ahead: usize,
    nearest: Seen,
    /// The holder's node, if the holder isn't the nearest contender, and what was read from it, when.
    holder: Option<(NodePath, Option<(Seen, BootTime)>)>,
}

impl WaitingLine {
    /// A line for a wait that began at `began` and ends at `deadline`. Nothing is shown yet.
    pub fn new(began: BootTime, deadline: Option<BootTime>, group: Pid, on_terminal: bool) -> Self {
        Self {
            began,
            deadline,
            group,
            on_terminal,
            is_shown: false,
            next_draw: None,
            clocks: None,
            queue: None,
        }
    }

    /// Whether stderr is a terminal that can show the line, and `--quiet` doesn't hide it.
    pub fn is_possible() -> bool {
        // A dumb terminal can't erase a line.
        let smart = env::var_os("TERM").is_some_and(|term| term != "dumb");
        smart && stderr().is_terminal() && log::log_enabled!(log::Level::Warn)
    }

    /// zklock's own node was created at this time of the server's.
    pub fn queued(&mut self, created: ServerTime) {
        self.clocks = Some((clock::now(), created));
    }

    /// Contenders are `ahead`: the `nearest` one, and the node of the `holder` if that is another one.
    pub fn waiting(&mut self, path: LockPath, nearest: Seen, ahead: usize, holder: Option<NodePath>) {
        if self.on_terminal {
            self.queue = Some(QueueLine { path, ahead, nearest, holder: holder.map(|node| (node, None)) });
            self.next_draw = Some(clock::now());
        }
    }

    /// The holder's `node` was read. Ignored if the line has moved on to another holder.
    pub fn holder(&mut self, node: &NodePath, holder: Seen) {
        if let Some(queue) = &mut self.queue
            && let Some((asked, seen)) = &mut queue.holder
            && asked == node
        {
            *seen = Some((holder, clock::now()));
            self.next_draw = Some(clock::now());
        }
    }

    /// Draws the line if that is due. Returns when it is due next.
    pub fn draw(&mut self) -> Option<BootTime> {
        let now = clock::now();
        let due = self.next_draw?;
        let text = self.text(now)?;
        if due <= now {
            self.next_draw = Some(now + REDRAW);
            if tcgetpgrp(stderr()).is_ok_and(|foreground| foreground == self.group) {
                self.is_shown = true;
                output::line(Some(text));
            }
        }
        self.next_draw
    }

    /// Removes the line from the screen until it is drawn again.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            output::line(None);
        }
    }

    /// Removes the line for good, because the wait is over.
    pub fn end(&mut self) {
        (self.queue, self.next_draw) = (None, None);
        self.clear();
    }

    fn text(&self, now: BootTime) -> Option<String> {
        let queue = self.queue.as_ref()?;
        let server_now = self.clocks.map(|(local, server)| {
            let since = i64::try_from(now.since(local).as_millis()).unwrap_or(i64::MAX);
            ServerTime(server.0.saturating_add(since))
        });
        let left = self.deadline.map(|deadline| now.until(deadline));
        let columns = Term::stderr().size_checked().map(|(_, columns)| usize::from(columns));
        let columns = columns.filter(|&columns| columns > 0);
        Some(queue.text(server_now, now, now.since(self.began), left).fit(columns))
    }
}

impl Drop for WaitingLine {
    fn drop(&mut self) {
        self.end();
    }
}

impl QueueLine {
    fn text(
        &self,
        server_now: Option<ServerTime>,
        now: BootTime,
        waited: Duration,
        left: Option<Duration>,
    ) -> Parts {
        let (seen, rest) = match &self.holder {
            Some((_, Some((seen, at)))) => {
                let age = now.since(*at);
                let old = if age > FRESH { format!(" (seen {} ago)", whole(age)) } else { String::new() };
                (seen, format!("{old}; behind {}", self.nearest.who))
            }
            _ => (&self.nearest, String::new()),
        };
        let holder = seen.at(server_now);
        let details = holder.details() + &rest;
        let is_holder = !matches!(self.holder, Some((_, None)));
        Parts {
            path: self.path.to_string(),
            position: self.ahead + 1,
            waited,
            left,
            is_holder,
            who: holder.who,
            details,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(holder: Option<(NodePath, Option<(Seen, BootTime)>)>) -> QueueLine {
        let path = LockPath::parse("/locks/job".as_ref()).unwrap();
        let nearest = Seen { who: "b:2 (two)".to_owned(), since: ServerTime(60_000), held_since: None };
        QueueLine { path, ahead: 2, nearest, holder }
    }

    #[test]
    fn the_line_has_position_holder_and_times() {
        let (now, waited) = (clock::now(), Duration::from_millis(12_700));
        let text = queue(None).text(Some(ServerTime(310_000)), now, waited, Some(Duration::from_secs(7)));
        assert_eq!(
            text.fit(None),
            "zklock: /locks/job: position 3, waiting 12 s, 7 s left; held by b:2 (two), queued 4 min 10 s ago"
        );
    }

    #[test]
    fn a_holder_with_a_known_start_is_shown_with_both_times() {
        let mut queue = queue(None);
        queue.nearest.held_since = Some(ServerTime(300_000));
        let text = queue.text(Some(ServerTime(310_000)), clock::now(), Duration::ZERO, None).fit(None);
        assert!(text.ends_with("; held by b:2 (two) for 10 s, queued 4 min 10 s ago"), "{text}");
    }

    #[test]
    fn old_information_about_the_holder_is_marked() {
        let seen = Seen { who: "a:1 (one)".to_owned(), since: ServerTime(0), held_since: None };
        let at = clock::now();
        let queue = queue(Some(("/locks/job/a".into(), Some((seen, at)))));
        let text = |after| queue.text(None, at + Duration::from_secs(after), Duration::ZERO, None).fit(None);
        assert_eq!(
            text(1),
            "zklock: /locks/job: position 3, waiting 0 s; held by a:1 (one); behind b:2 (two)"
        );
        assert!(text(30).contains("held by a:1 (one) (seen 30 s ago); behind"), "{}", text(30));
    }
}
