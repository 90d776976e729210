//! Checks the architecture in the sources: dependencies go one way. That the core doesn't act is for `crates/core` itself:
//! its manifest and its `clippy.toml` have nothing to act with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The sources of the program, and those of the core.
const ROOTS: [&str; 2] = ["src", "crates/core/src"];

/// The sources below a directory with their texts, without tests and comments.
fn sources(below: &str) -> Vec<(PathBuf, String)> {
    files(below).into_iter().map(|(path, text)| (path, shipped(&text))).collect()
}

/// The same with comments and the unit tests in them.
fn files(below: &str) -> Vec<(PathBuf, String)> {
    let mut directories = vec![Path::new(ROOT).join(below)];
    let mut found = vec![];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("tests") || path.ends_with("tests.rs") {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "{below}");
    found
}

/// The text without tests and comments.
fn shipped(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text[..end].lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// The rooms of a crate, its files and directories, and which of the others each of them knows.
fn arrows(below: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(ROOT).join(below);
    // The room, a file's depth in it, and the file's text.
    let place = |(file, text): (PathBuf, String)| {
        let inside = file.strip_prefix(&root).unwrap().with_extension("");
        let parts: Vec<_> = inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        let depth = parts.len() - usize::from(parts.ends_with(&["mod".to_owned()]));
        (parts[0].clone(), depth, text)
    };
    let files = sources(below).into_iter().map(place);
    let files: Vec<_> = files.filter(|(room, ..)| !["lib", "main", "mod"].contains(&room.as_str())).collect();
    let mut arrows: BTreeMap<_, BTreeSet<_>> =
        files.iter().map(|(room, ..)| (room.clone(), BTreeSet::new())).collect();
    for (room, depth, text) in &files {
        assert!(!text.contains("crate::{"), "{room}: a list of rooms, which isn't read here");
        let is_named = |path: &str, other: &str| {
            let path = format!("{path}::{other}");
            let after = text.match_indices(&path).map(|(at, _)| &text[at + path.len()..]);
            after.into_iter().any(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        let is_known = |other: &&String| {
            *other != room && (is_named("crate", other) || *depth == 1 && is_named("super", other))
        };
        let known: Vec<_> = files.iter().map(|(other, ..)| other).filter(is_known).cloned().collect();
        arrows.entry(room.clone()).or_default().extend(known);
    }
    arrows
}

/// The rooms that remain if, again and again, those that know no other are taken away: those in a cycle, or above one.
fn in_cycles(mut arrows: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    while let Some(free) = arrows.iter().find(|(_, known)| known.is_empty()).map(|(room, _)| room.clone()) {
        arrows.remove(&free);
        for known in arrows.values_mut() {
            known.remove(&free);
        }
    }
    arrows
}

#[test]
fn no_rooms_know_each_other() {
    for root in ROOTS {
        let cycles = in_cycles(arrows(root));
        assert!(cycles.is_empty(), "{root}: {cycles:#?}");
    }
}

#[test]
fn a_cycle_is_found() {
    let known = |rooms: &[&str]| rooms.iter().map(|&room| room.to_owned()).collect();
    let arrows = [("a", known(&["b", "d"])), ("b", known(&["c"])), ("c", known(&["b"])), ("d", known(&[]))];
    let cycles = in_cycles(arrows.map(|(room, known)| (room.to_owned(), known)).into());
    assert_eq!(cycles.into_keys().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn arrows_go_one_way() {
    for (below, outside) in [
        ("src/ensemble", "zklock_core::queue"),
        ("src/ensemble", "zklock_core::lease"),
        ("src/ensemble", "zklock_core::run"),
        ("src/cli", "crate::subcommands"),
        ("crates/core/src/queue", "crate::lease"),
        ("src/process", "crate::ensemble"),
        ("src/job", "crate::worker"),
        ("src/worker", "crate::monitor::"),
    ] {
        for (file, text) in sources(below) {
            assert!(!text.contains(outside), "{} knows {outside}", file.display());
        }
    }
}

/// rustc's lint `missing_docs` demands a comment for each field and variant too, even if its name says everything.
#[test]
fn public_types_and_functions_have_a_comment() {
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    for (file, text) in ROOTS.into_iter().flat_map(files) {
        assert!(text.starts_with("//! "), "{} doesn't say what it is for", file.display());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(item) = line.strip_prefix("pub ") else { continue };
            if !kinds.contains(&item.split(' ').next().unwrap()) && !item.starts_with("unsafe fn") {
                continue;
            }
            // clap would make a doc comment of the subcommands the first line of zklock's own help.
            let comment = if lines[number - 1].contains("clap::Subcommand") { "// " } else { "///" };
            // Attributes may come between, on several lines.
            let mut above = lines[..number].iter().rev();
            let nearest = above
                .find(|line| line.starts_with(comment) || line.is_empty() || line.ends_with([';', '{', '}']));
            assert!(nearest.is_some_and(|line| line.starts_with(comment)), "{}: {line}", file.display());
        }
    }
}

/// Passwords and keys reach the servers and nothing else: no file, no log, no other process.
#[test]
fn nothing_with_a_secret_can_be_serialised() {
    for (file, text) in sources("src/ensemble/security") {
        assert!(!text.contains("serde"), "{} uses serde", file.display());
    }
}

/// An example that is a copy of a test compiles, and does what the page says.
#[test]
fn the_example_of_a_test_in_contributing_is_one_of_the_tests() {
    let (page, tests) = (include_str!("../CONTRIBUTING.md"), include_str!("busy.rs"));
    let examples: Vec<_> =
        page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        assert!(tests.contains(example), "not in tests/busy.rs:\n{example}");
    }
}

#[test]
fn the_loop_of_the_worker_is_short() {
    let (_, text) =
        sources("src/worker").into_iter().find(|(file, _)| file.ends_with("worker/mod.rs")).unwrap();
    let after = text.split("fn run_loop(").nth(1).unwrap();
    let lines = after.lines().take_while(|line| *line != "}").count();
    assert!(lines < 80, "{lines} lines");
}

fn manifests() -> [toml::Table; 2] {
    [include_str!("../Cargo.toml"), include_str!("../crates/core/Cargo.toml")]
        .map(|text| text.parse().unwrap())
}

/// A build with all features, as made by distributions and scanners, must have the same lease.
#[test]
fn no_cargo_feature_touches_the_lease() {
    let [program, core] = manifests();
    let features: Vec<&str> = program["features"].as_table().unwrap().keys().map(String::as_str).collect();
    assert_eq!(features, ["gssapi"], "check that a new feature leaves the lease alone, then add it here");
    assert!(!core.contains_key("features"), "the core has no features");
    let requests = sources("src/ensemble").into_iter().filter(|(file, _)| file.ends_with("write.rs"));
    for (file, text) in requests.chain(sources("crates/core/src")) {
        assert!(!text.contains("feature ="), "{}: a feature changes a decision or a request", file.display());
    }
}
