//! Checks the architecture in the sources: code that decides imports nothing that acts, and dependencies go one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the core may import besides itself: data and texts, but no clock, no input or output, and no randomness.
const CORE_MAY_USE: [&str; 19] = [
    "crate::core",
    "super",
    "self",
    "std::collections",
    "std::ffi",
    "std::fmt",
    "std::iter",
    "std::mem",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::ops",
    "std::sync::atomic",
    "std::time::Duration",
    "anyhow",
    "jiff::Timestamp",
    "serde",
    "serde_json",
    "thiserror",
    "uuid::Uuid",
];

/// What individual files of the core may use in addition.
const EXCEPTIONS: [(&str, &str); 2] = [
    // Numbers only.
    ("signal.rs", "nix::libc"),
    // The names of the mistakes, for a build with `--cfg planted`.
    ("planted.rs", "clap::ValueEnum"),
];

/// Names whose use would make the core act, or make its decisions depend on chance.
const FORBIDDEN_IN_CORE: [&str; 9] = [
    "Instant",
    "SystemTime",
    "new_v4",
    "fastrand",
    "log::",
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
];

/// The rooms that the core doesn't know.
const ROOMS_THAT_ACT: [&str; 13] = [
    "crate::cli",
    "crate::config",
    "crate::ensemble",
    "crate::files",
    "crate::job",
    "crate::link",
    "crate::monitor",
    "crate::output",
    "crate::plan",
    "crate::process",
    "crate::run",
    "crate::subcommands",
    "crate::worker",
];

/// The sources below a directory of `src` with their texts, without tests and comments.
fn sources(below: &str) -> Vec<(PathBuf, String)> {
    files(below).into_iter().map(|(path, text)| (path, shipped(&text))).collect()
}

/// The same with comments and the unit tests in them.
fn files(below: &str) -> Vec<(PathBuf, String)> {
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(below)];
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

/// The paths that `use` declarations name; of a list in braces, the part before it.
fn imports(text: &str) -> Vec<String> {
    let declarations = text.split("\nuse ").skip(1).chain(text.split("\npub use ").skip(1));
    declarations
        .map(|rest| rest.split(';').next().unwrap_or_default())
        .map(|path| path.split('{').next().unwrap_or_default().trim_end_matches("::").to_owned())
        .collect()
}

fn is_below(path: &str, root: &str) -> bool {
    path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with("::"))
}

#[test]
fn the_core_imports_nothing_that_acts() {
    for (file, text) in sources("core") {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap();
        for path in imports(&format!("\n{text}")) {
            let may = CORE_MAY_USE.iter().any(|root| is_below(&path, root));
            let is_exception = EXCEPTIONS.iter().any(|(of, root)| *of == name && is_below(&path, root));
            // A submodule of the same file.
            let is_own = text.contains(&format!("mod {};", path.split("::").next().unwrap()));
            assert!(may || is_exception || is_own, "{} imports {path}", file.display());
        }
        for word in FORBIDDEN_IN_CORE {
            assert!(!text.contains(word), "{} says {word}", file.display());
        }
        for outside in ROOMS_THAT_ACT {
            assert!(!text.contains(outside), "{} knows {outside}", file.display());
        }
    }
}

/// The rooms below a directory of `src`, its files and directories, and which of the others each of them knows. `module` is
/// the directory's path in the program.
fn arrows(below: &str, module: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(below);
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
        assert!(!text.contains(&format!("{module}::{{")), "{room}: a list of rooms, which isn't read here");
        let is_named = |path: &str, other: &str| {
            let path = format!("{path}::{other}");
            let after = text.match_indices(&path).map(|(at, _)| &text[at + path.len()..]);
            after.into_iter().any(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        let is_known = |other: &&String| {
            *other != room && (is_named(module, other) || *depth == 1 && is_named("super", other))
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
    for (below, module) in [("", "crate"), ("core", "crate::core")] {
        let cycles = in_cycles(arrows(below, module));
        assert!(cycles.is_empty(), "{module}: {cycles:#?}");
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
        ("ensemble", "core::queue"),
        ("ensemble", "core::lease"),
        ("ensemble", "core::run"),
        ("config", "crate::subcommands"),
        ("config", "crate::cli"),
        ("cli", "crate::subcommands"),
        ("core/queue", "core::lease"),
        ("process", "crate::ensemble"),
        ("job", "crate::worker"),
        ("worker", "crate::monitor::"),
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
    for (file, text) in files("") {
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
    for (file, text) in sources("ensemble/security") {
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
    let (_, text) = sources("worker").into_iter().find(|(file, _)| file.ends_with("worker/mod.rs")).unwrap();
    let after = text.split("fn run_loop(").nth(1).unwrap();
    let lines = after.lines().take_while(|line| *line != "}").count();
    assert!(lines < 80, "{lines} lines");
}
