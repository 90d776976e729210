//! Messages for programs: one JSON object per line. `docs/json.md` specifies the format.

use jiff::Timestamp;
use log::Level;
use serde::Serialize;
use serde_json::{Map, Value};
use zklock_core::message::{self, Message};
use zklock_core::path::LockPath;
use zklock_core::protocol::LockNode;

#[derive(Serialize)]
struct JsonLine<'a> {
    time: String,
    level: &'static str,
    event: &'a str,
    lock: Option<&'a str>,
    node: Option<&'a str>,
    token: Option<i64>,
    #[serde(flatten)]
    fields: Map<String, Value>,
    message: &'a str,
}

/// The line for a message of a run; `own` is zklock's node at that lock.
pub(super) fn run_message(path: &LockPath, own: Option<&LockNode>, message: Message) -> String {
    line(&JsonLine {
        lock: Some(path.as_str()),
        node: own.map(|node| node.path.as_str()),
        token: own.map(|node| node.czxid),
        fields: message.fields,
        ..plain(message.level.word(), message.event, &message.text)
    })
}

/// The line for any other message about a lock.
pub(super) fn lock_message(level: message::Level, path: &LockPath, text: &str) -> String {
    let word = level.word();
    line(&JsonLine { lock: Some(path.as_str()), ..plain(word, word, text) })
}

/// The line for a record of the `log` crate. Below the level of warnings it has the record's target, which is the
/// module that wrote it.
pub(super) fn log_record(level: Level, target: &str, text: &str) -> String {
    let word = word(level);
    let target = (level > Level::Warn).then(|| ("target".to_owned(), target.into()));
    line(&JsonLine { fields: target.into_iter().collect(), ..plain(word, word, text) })
}

/// The line that reports that `count` messages were dropped.
pub(super) fn dropped_messages(count: usize, text: &str) -> String {
    let fields = Map::from_iter([("count".to_owned(), count.into())]);
    line(&JsonLine { fields, ..plain("warning", "left_out", text) })
}

fn plain<'a>(level: &'static str, event: &'a str, message: &'a str) -> JsonLine<'a> {
    let time = format!("{:.3}", Timestamp::now());
    JsonLine { time, level, event, lock: None, node: None, token: None, fields: Map::new(), message }
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

    use zklock_core::message::Message;

    use super::*;

    #[test]
    fn a_line_has_the_message_s_fields_between_the_common_ones() {
        let path = LockPath::parse("/locks/job".as_ref()).unwrap();
        let own = LockNode { path: "/locks/job/n".into(), czxid: 7 };
        let message =
            Message::step("acquired", "acquired").with_span("waited", Duration::from_micros(1_234_567));
        let line = run_message(&path, Some(&own), message);
        let (_, rest) = line.split_once("Z\",").unwrap();
        assert_eq!(
            rest,
            "\"level\":\"info\",\"event\":\"acquired\",\"lock\":\"/locks/job\",\"node\":\"/locks/job/n\",\"token\":7,\
             \"waited\":1.235,\"message\":\"acquired\"}\n"
        );
    }

    #[test]
    fn a_message_with_line_breaks_is_still_one_line() {
        let path = LockPath::parse("/a".as_ref()).unwrap();
        for text in ["a\nb", "\u{1b}[2J", "\u{2028}"] {
            let lines =
                [lock_message(message::Level::Warning, &path, text), log_record(Level::Debug, "x", text)];
            for line in lines {
                assert_eq!(line.matches('\n').count(), 1);
                let read: Value = serde_json::from_str(&line).unwrap();
                assert_eq!(read["message"], text);
            }
        }
    }
}
