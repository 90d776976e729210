//! Checks the pages about messages against what zklock says.

mod log_json;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

/// A message that a run said, as its transcript in crates/core/src/run/tests has it.
#[derive(Debug)]
struct Said {
    level: String,
    event: String,
    text: String,
    fields: Map<String, Value>,
}

/// What all recorded runs said.
fn said() -> Vec<Said> {
    const LEVELS: [&str; 5] = ["Error", "Warning", "Notice", "Step", "Debug"];
    let transcripts = fs::read_dir(repository().join("crates/core/src/run/tests/transcripts")).unwrap();
    let texts = transcripts.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let text: String = texts.collect();
    let said = text.lines().filter_map(|line| {
        let (level, rest) = line.strip_prefix("    ")?.split_once(' ')?;
        let is_said = LEVELS.contains(&level);
        let (event, rest) = rest.split_once(' ').filter(|_| is_said)?;
        let (_, rest) = rest.split_once(": ")?;
        let (text, fields) = rest.rsplit_once(" {")?;
        let fields = serde_json::from_str(&format!("{{{fields}")).unwrap();
        let words = [level, event, text].map(str::to_owned);
        let [level, event, text] = words;
        Some(Said { level, event, text, fields })
    });
    said.collect()
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The messages that docs/troubleshooting.md quotes, each as code at the start of a table's row.
fn quoted() -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/troubleshooting.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap_or_default().to_owned()).collect()
}

/// The longest part of a message between those that vary, which the page writes as `...` or in brackets.
fn constant(message: &str) -> &str {
    let parts = message.split("...").flat_map(|part| part.split(['[', ']']).step_by(2));
    let parts = parts.map(|part| part.trim_matches(['(', ')', ' ']));
    parts.max_by_key(|part| part.len()).unwrap_or_default()
}

#[test]
fn the_page_quotes_nothing_that_zklock_does_not_say() {
    let mut sources: String = said().into_iter().map(|said| said.text).collect();
    let mut directories = vec![repository().join("src"), repository().join("crates/core/src")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                sources.push_str(&said_in(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    let quoted = quoted();
    assert!(quoted.len() > 15, "{quoted:?}");
    // Other texts of TLS are the library's.
    let is_ours = |text: &&String| !text.starts_with("TLS: ");
    let stale: Vec<_> =
        quoted.iter().filter(is_ours).filter(|text| !sources.contains(constant(text))).collect();
    assert!(stale.is_empty(), "zklock doesn't say: {stale:#?}");
}

/// A source without comments and tests, with each of its texts on one line.
fn said_in(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.map(|line| line.strip_suffix('\\').unwrap_or(line)).collect()
}
