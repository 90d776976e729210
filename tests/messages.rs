//! Checks docs/troubleshooting.md and the core's messages against each other.

mod log_json;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use zklock_core::monitor::{MonitorMessage, WorkerFailure};
use zklock_core::pair::Stage;
use zklock_core::protocol::RequestError;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::name::{Family, Mode};
use zklock_core::queue::order::QueueError;

/// Names every variant of a type once. A variant that is missing here doesn't compile, and one without an example fails
/// the test.
macro_rules! variants {
    ($of:ident, $name:ident, $all:ident: $($variant:ident),+ $(,)?) => {
        const $all: &[&str] = &[$(stringify!($variant)),+];

        fn $name(value: &$of) -> &'static str {
            match value {
                $($of::$variant { .. } => stringify!($variant)),+
            }
        }
    };
}

variants!(ContentionError, trouble_name, TROUBLES:
    Deleted, Refused, Permission, OwnNodeHidden, NotEphemeral, EphemeralParent, NoChroot, ParentsVanish, Closed, Server,
);

variants!(RequestError, failure_name, FAILURES:
    ConnectionLost, NoNode, NoAuth, NoCreate, NoDelete, Hidden, InvalidAcl, EphemeralParent, Changed, LocalSession, Unsupported,
    TooOld, Quota, ReadOnly, Expired, GivenUp, AuthFailed, Other,
);

fn failures() -> Vec<RequestError> {
    use RequestError as F;
    let other = F::Other("the ZooKeeper client failed at what the server said".to_owned());
    vec![
        F::ConnectionLost,
        F::NoNode,
        F::NoAuth,
        F::NoCreate("/a".to_owned()),
        F::NoDelete,
        F::Hidden,
        F::InvalidAcl,
        F::EphemeralParent,
        F::Changed,
        F::LocalSession,
        F::Unsupported,
        F::TooOld,
        F::Quota,
        F::ReadOnly,
        F::Expired,
        F::GivenUp,
        F::AuthFailed,
        other,
    ]
}

fn refusals() -> [QueueError; 5] {
    let node = || "_c_1-lock-0000000001".to_owned();
    [
        QueueError::OtherFamily { node: node(), family: Family::Kazoo },
        QueueError::OtherRecipe(node()),
        QueueError::OtherKind { node: node(), theirs: Mode::Slots(3), ours: Mode::Slots(2) },
        QueueError::CounterEnd { node: node() },
        QueueError::Tie { one: node(), other: node() },
    ]
}

fn troubles() -> Vec<ContentionError> {
    let mut troubles = vec![
        ContentionError::Deleted,
        ContentionError::Permission { action: "queue", permission: "CREATE", node: "/a".to_owned() },
        ContentionError::OwnNodeHidden,
        ContentionError::NotEphemeral("/locks/job/lock-0000000001".to_owned()),
        ContentionError::EphemeralParent,
        ContentionError::NoChroot("/app".to_owned()),
        ContentionError::ParentsVanish,
        ContentionError::Closed("create its lock node"),
        ContentionError::Server(RequestError::Quota),
    ];
    troubles.extend(refusals().map(ContentionError::Refused));
    troubles
}

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

/// A message as the page writes it: its constant parts, in order.
struct Pattern(Vec<String>);

impl Pattern {
    /// `[…]` stands for a part that varies, `…` for a text that is documented elsewhere, and brackets with "or" for
    /// another wording.
    fn new(text: &str) -> Self {
        let (mut parts, mut part, mut depth) = (vec![], String::new(), 0_usize);
        for c in text.replace("...", "[]").chars() {
            match c {
                '[' => {
                    depth += 1;
                    parts.push(std::mem::take(&mut part));
                }
                ']' => depth = depth.saturating_sub(1),
                c if depth == 0 => part.push(c),
                _ => {}
            }
        }
        parts.push(part);
        let parts = parts.iter().map(|part| part.split(" (or: ").next().unwrap_or_default());
        Self(parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
    }

    fn matches(&self, said: &str) -> bool {
        let mut rest = said;
        self.0.iter().all(|part| {
            let found = rest.split_once(part.as_str());
            rest = found.map_or(rest, |(_, after)| after);
            found.is_some()
        })
    }

    /// Whether it has enough text to be distinguished from others.
    fn is_specific(&self) -> bool {
        self.0.iter().map(String::len).sum::<usize>() >= 8
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// How the messages of the page begin: each is code at the start of a list item.
fn documented() -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/troubleshooting.md")).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("- `"));
    lines.map(|line| line.split('`').next().unwrap_or_default().to_owned()).collect()
}

/// Whether the page has the message.
fn explains(patterns: &[Pattern], said: &str) -> bool {
    patterns.iter().any(|pattern| pattern.is_specific() && pattern.matches(said))
}

#[test]
fn every_failure_has_an_example_here() {
    let troubles: Vec<&str> = troubles().iter().map(trouble_name).collect();
    let failures: Vec<&str> = failures().iter().map(failure_name).collect();
    for (all, said) in [(TROUBLES, troubles), (FAILURES, failures)] {
        let missing: Vec<_> = all.iter().filter(|name| !said.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn the_page_explains_every_message() {
    let patterns: Vec<Pattern> = documented().iter().map(|text| Pattern::new(text)).collect();
    let unexplained: Vec<String> = said_by_the_core().filter(|said| !explains(&patterns, said)).collect();
    assert!(unexplained.is_empty(), "docs/troubleshooting.md doesn't have:\n{}", unexplained.join("\n"));
}

/// All examples except those of steps, which need no remedy.
fn said_by_the_core() -> impl Iterator<Item = String> {
    let needs_a_remedy = |said: &Said| ["Error", "Warning"].contains(&said.level.as_str());
    let messages = said().into_iter().filter(needs_a_remedy).map(|said| said.text);
    let troubles = troubles().into_iter().map(|trouble| trouble.to_string());
    let failures = failures().into_iter().map(|failure| failure.to_string());
    let unwatched = WorkerFailure::Unwatched("can't wait for what happens".to_owned());
    let worker = [WorkerFailure::Frozen, WorkerFailure::IgnoresSignal(15), unwatched]
        .map(|failure| MonitorMessage::Worker { failure, stage: Stage::Running });
    let node = [true, false].map(|gone| MonitorMessage::Node { gone });
    let of_monitor = worker.into_iter().chain(node).chain([MonitorMessage::RecordUncertain]);
    messages.chain(troubles).chain(failures).chain(of_monitor.map(|message| message.to_string()))
}

#[test]
fn the_page_explains_nothing_that_is_not_said() {
    let mut sources = String::new();
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
    // Messages of libraries.
    let others = [
        "cannot be used with",
        "required arguments",
        "unexpected argument",
        "unexpected value",
        "invalid value",
    ];
    let others = [
        &others[..],
        &[
            "a value is required for",
            "that scheme is world:anyone",
            "TLS: ",
            "memory allocation of",
            "invalid logging spec",
        ],
    ]
    .concat();
    let is_ours = |text: &String| !others.iter().any(|words| text.contains(words));
    let said: Vec<String> = said_by_the_core().collect();
    let mut stale = vec![];
    for text in documented().into_iter().filter(is_ours) {
        let pattern = Pattern::new(&text);
        if said.iter().any(|said| pattern.matches(said)) {
            continue;
        }
        let longest = pattern.0.iter().max_by_key(|part| part.len()).cloned().unwrap_or_default();
        // The parts in brackets or quotes may be filled in.
        let constant = longest.split(['\'', '(', ')', ':', ';']).map(str::trim).max_by_key(|part| part.len());
        if constant.is_some_and(|constant| constant.len() > 10 && !sources.contains(constant)) {
            stale.push(text);
        }
    }
    assert!(stale.is_empty(), "zklock doesn't say:\n{}", stale.join("\n"));
}

/// A source without comments and tests, with each of its texts on one line.
fn said_in(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.map(|line| line.strip_suffix('\\').unwrap_or(line)).collect()
}
