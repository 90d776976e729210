//! Messages for programs: one JSON object per line. `docs/log-json.md` specifies the format.

use jiff::Timestamp;
use log::Level;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::core::event::{Fact, Named};
use crate::core::message::Message;
use crate::core::pair::OwnedNode;
use crate::core::path::LockPath;

#[derive(Serialize)]
struct JsonLine<'a> {
    time: String,
    level: &'static str,
    event: &'a str,
    lock: Option<&'a str>,
    node: Option<&'a str>,
    token: Option<i64>,
    #[serde(flatten)]
    facts: EventFields,
    message: String,
}

struct EventFields(Vec<Named>);

impl Serialize for EventFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, fact) in &self.0 {
            match fact {
                Fact::Text(text) => map.serialize_entry(name, text)?,
                Fact::Texts(texts) => map.serialize_entry(name, texts)?,
                Fact::Number(number) => map.serialize_entry(name, number)?,
                Fact::Flag(flag) => map.serialize_entry(name, flag)?,
                // Seconds, rounded to the millisecond.
                Fact::Span(span) => {
                    map.serialize_entry(name, &((span.as_secs_f64() * 1000.0).round() / 1000.0))?;
                }
                Fact::Unknown => map.serialize_entry(name, &None::<()>)?,
            }
        }
        map.end()
    }
}

/// The line for a message of a run; `own` is zklock's node at that lock.
pub(super) fn run_message(path: &LockPath, own: Option<&OwnedNode>, message: &Message) -> String {
    line(&JsonLine {
        lock: Some(path.as_str()),
        node: own.map(|node| node.path.as_str()),
        token: own.map(|node| node.czxid),
        facts: EventFields(message.facts()),
        ..plain(message.level().word(), message.event(), message.to_string())
    })
}

/// The line for any other message about a lock.
pub(super) fn lock_message(level: Level, path: &LockPath, text: &str) -> String {
    let word = word(level);
    line(&JsonLine { lock: Some(path.as_str()), ..plain(word, word, text.to_owned()) })
}

/// The line for a record of the `log` crate. Below the level of warnings it has the record's target, which is the
/// module that wrote it.
pub(super) fn log_record(level: Level, target: &str, text: &str) -> String {
    let word = word(level);
    let target = ("target", Fact::Text(target.to_owned()));
    let facts = EventFields(if level <= Level::Warn { vec![] } else { vec![target] });
    line(&JsonLine { facts, ..plain(word, word, text.to_owned()) })
}

/// The line that reports that `count` messages were dropped.
pub(super) fn dropped_messages(count: usize, text: &str) -> String {
    let count = Fact::Number(u64::try_from(count).unwrap_or(u64::MAX));
    let facts = EventFields(vec![("count", count)]);
    line(&JsonLine { facts, ..plain("warning", "left_out", text.to_owned()) })
}

fn plain<'a>(level: &'static str, event: &'a str, message: String) -> JsonLine<'a> {
    let time = format!("{:.3}", Timestamp::now());
    JsonLine { time, level, event, lock: None, node: None, token: None, facts: EventFields(vec![]), message }
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug | Level::Trace => "debug",
    }
}

fn line(line: &JsonLine<'_>) -> String {
    // A struct of strings and numbers always has a JSON form.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_has_the_message_s_fields_between_the_common_ones() {
        let path = LockPath::parse("/locks/job".as_ref()).unwrap();
        let own = OwnedNode { path: "/locks/job/n".into(), czxid: 7 };
        let message = Message::Acquired { after: Duration::from_micros(1_234_567), token: 7 };
        let line = run_message(&path, Some(&own), &message);
        let (_, rest) = line.split_once("Z\",").unwrap();
        assert_eq!(
            rest,
            "\"level\":\"info\",\"event\":\"acquired\",\"lock\":\"/locks/job\",\"node\":\"/locks/job/n\",\"token\":7,\
             \"waited\":1.235,\"message\":\"acquired after 1.2 s, fencing token 7\"}\n"
        );
    }

    #[test]
    fn a_message_with_line_breaks_is_still_one_line() {
        let path = LockPath::parse("/a".as_ref()).unwrap();
        for text in ["a\nb", "\u{1b}[2J", "\u{2028}"] {
            let lines = [lock_message(Level::Warn, &path, text), log_record(Level::Debug, "x", text)];
            for line in lines {
                assert_eq!(line.matches('\n').count(), 1);
                let read: serde_json::Value = serde_json::from_str(&line).unwrap();
                assert_eq!(read["message"], text);
            }
        }
    }
}
