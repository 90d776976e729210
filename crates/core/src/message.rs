//! Messages of a run. Each is said where it is decided, and is about a lock path; the program writes it out, as text or as
//! JSON.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::duration;
use super::protocol::ServerTime;
use super::text::{time, whole};
use crate::queue::contender::ContentionError;

/// How important a message is. `-q`, `-v` and `-vv` choose which levels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Why zklock can't continue. Always shown.
    Error,
    /// A problem that doesn't stop zklock. Hidden by `-q`.
    Warning,
    /// A step that was asked for. Hidden by `-q`.
    Notice,
    /// A step of the run. Shown by `-v`.
    Step,
    /// Details for debugging. Shown by `-vv`.
    Debug,
}

impl Level {
    /// The level as programs read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice | Self::Step => "info",
            Self::Debug => "debug",
        }
    }
}

/// One message: the text for people, and the rest for programs (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub level: Level,
    /// The name of the event. Several messages can have the same one.
    pub event: &'static str,
    pub text: String,
    /// The text if `-q` has hidden the warning before it, which gives the reason.
    pub text_alone: Option<String>,
    /// The event's own fields.
    pub fields: Map<String, Value>,
}

impl Message {
    /// A message without fields of its own.
    #[must_use]
    pub fn new(level: Level, event: &'static str, text: impl Into<String>) -> Self {
        Self { level, event, text: text.into(), text_alone: None, fields: Map::new() }
    }

    /// A detail.
    #[must_use]
    pub fn debug(event: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Debug, event, text)
    }

    /// A step of the run.
    #[must_use]
    pub fn step(event: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Step, event, text)
    }

    /// A problem that doesn't stop zklock.
    #[must_use]
    pub fn warning(event: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Warning, event, text)
    }

    /// zklock can't continue, for this `reason` in one word.
    #[must_use]
    pub fn error(reason: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Error, "error", text).with("reason", reason)
    }

    /// With this field.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }

    /// It was said before, and is said again because of `--progress`.
    #[must_use]
    pub fn again(self) -> Self {
        Self { level: Level::Notice, ..self }
    }

    /// zklock waits for other contenders; `left`: until `-w` runs out.
    pub fn waiting(position: usize, predecessor: &str, waited: Duration, left: Option<Duration>) -> Self {
        let limit = left.map(|left| format!(", {} left", whole(left))).unwrap_or_default();
        Self::step("waiting", format!("position {position}, behind {predecessor}{limit}"))
            .with("position", position)
            .with("predecessor", predecessor)
            .with_span("waited", waited)
            .with_span("left", left)
    }

    /// `zklock wait`: all that held the lock or queued for it are gone.
    pub fn free(after: Duration) -> Self {
        Self::step("free", format!("free after {}", time(after))).with_span("waited", after)
    }

    /// With `-n` or `-w 0`. `now` is by this host's clock.
    pub fn busy(holder: &str, held_since: Option<ServerTime>, now: ServerTime) -> Self {
        let held = held_for(held_since, now).map(|held| format!(" for {held}")).unwrap_or_default();
        Self::warning("busy", format!("busy: held by {holder}{held}"))
            .with("holder", holder)
            .with("held_since", held_since.map(|at| at.to_string()))
    }

    /// `-w` ran out while the lock was busy. `state`: what zklock waited for, unless it is only that.
    pub fn gave_up(
        waited: Duration,
        state: Option<&str>,
        predecessor: Option<&str>,
        held_since: Option<ServerTime>,
        now: ServerTime,
    ) -> Self {
        let held = held_for(held_since, now).map(|held| format!(", which has held it for {held}"));
        Self::warning("busy", format!("busy: {}{}", gave_up(waited, state), held.unwrap_or_default()))
            .with_span("waited", waited)
            .with("predecessor", predecessor)
            .with("held_since", held_since.map(|at| at.to_string()))
    }

    /// No server established a session. `within`: how long they were tried, and the option that says so, unless all of them
    /// refused and zklock didn't wait. `servers`: the reason that each gave.
    pub fn unreachable(within: Option<(Duration, &str)>, servers: Vec<String>) -> Self {
        let short = within.filter(|(time, _)| *time < Duration::from_secs(1));
        let longer =
            short.map(|(_, option)| format!("allow more time with {option}, or ")).unwrap_or_default();
        let within = within.map(|(time, _)| format!(" within {}", duration::text(time))).unwrap_or_default();
        let text = format!(
            "no ZooKeeper server could be reached{within}; {longer}name others with -z or ZKLOCK_ZOOKEEPER"
        );
        let text = servers.iter().fold(text, |text, server| text + "\n  " + server);
        Self::error("unreachable", text).with("servers", servers)
    }

    /// With this span of time.
    #[must_use]
    pub fn with_span(self, field: &str, span: impl Into<Option<Duration>>) -> Self {
        self.with(field, span.into().map(seconds))
    }

    /// The servers at `hosts` refuse the credentials, or demand some if none were `given`.
    pub fn credentials_refused(hosts: &str, given: bool) -> Self {
        let said = if given {
            "refused the credentials: check the lines of --auth-file and ZKLOCK_AUTH, and whether the server knows their \
             scheme"
        } else {
            "demands credentials: give them with --auth-file FILE or ZKLOCK_AUTH"
        };
        Self::error("credentials", format!("{hosts} {said}"))
    }

    /// Whether it is one of the main steps of a run, which JSON output has without `-v` too.
    pub fn is_milestone(&self) -> bool {
        matches!(
            self.event,
            "queued" | "waiting" | "awaiting_servers" | "acquired" | "started" | "released" | "left" | "free"
        )
    }
}

/// A span of time in JSON: in seconds, rounded to the millisecond.
fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1000.0).round() / 1000.0
}

/// The words for a wait that has run out.
pub(crate) fn gave_up(waited: Duration, state: Option<&str>) -> String {
    let state = state.map(|state| format!(": {state}")).unwrap_or_default();
    format!("gave up after {}{state}", time(waited))
}

/// How long a contender has held the lock, unless the clocks of the host and the servers are too far apart.
fn held_for(held_since: Option<ServerTime>, now: ServerTime) -> Option<String> {
    held_since.map(|at| at.until(now)).filter(|held| !held.is_zero()).map(whole)
}

impl From<ContentionError> for Message {
    fn from(error: ContentionError) -> Self {
        Self::error("queue", error.to_string())
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
