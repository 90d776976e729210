//! What the pages name exists: files and headings.

use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn every_file_of_the_project_that_a_page_names_exists() {
    const DIRECTORIES: [&str; 8] =
        ["src/", "crates/", "tests/", "scripts/", "docs/", "fuzz/", "benches/", ".github/"];
    let missing: Vec<String> = quoted_in_pages()
        .iter()
        .filter(|quoted| DIRECTORIES.iter().any(|directory| quoted.text.starts_with(directory)))
        .flat_map(|quoted| files_of(quoted.text.split(' ').next().unwrap()).map(|file| (&quoted.place, file)))
        .filter(|(_, file)| !Path::new(ROOT).join(file).exists())
        .map(|(place, file)| format!("{place}: there is no {file}"))
        .collect();
    assert!(missing.is_empty(), "stale names of files:\n{}", missing.join("\n"));
}

#[test]
fn every_file_of_the_map_exists() {
    // The map leaves out the directory that its text or the head of a column names.
    const ROOTS: [&str; 4] = ["", "src", "crates/core/src", "crates/core/tests/simulation"];
    let names = quoted_in_pages().into_iter().filter(|quoted| quoted.place.starts_with("docs/first-hour.md"));
    let names = names.filter(|quoted| {
        quoted.text.ends_with('/') || Path::new(&quoted.text).extension().is_some_and(|end| end == "rs")
    });
    let mut missing = Vec::new();
    for quoted in names {
        for file in files_of(&quoted.text) {
            let file = file.strip_prefix("core/").unwrap_or(&file).to_owned();
            if !ROOTS.iter().any(|root| Path::new(ROOT).join(root).join(&file).exists()) {
                missing.push(format!("{}: there is no {file}", quoted.place));
            }
        }
    }
    assert!(missing.is_empty(), "stale names of files:\n{}", missing.join("\n"));
}

#[test]
fn every_page_says_which_commands_need_a_checkout() {
    // Packages contain the pages, but neither scripts nor sources.
    const OF_A_CHECKOUT: [&str; 2] = ["scripts/", "cargo "];
    let mut silent = Vec::new();
    for (name, text) in pages() {
        let (mut in_block, mut introduction, mut section) = (false, None, String::new());
        for (number, line) in (1..).zip(text.lines()) {
            in_block ^= line.starts_with("```");
            if line.starts_with("## ") && !in_block {
                introduction.get_or_insert(std::mem::take(&mut section));
            }
            let command = if in_block { line.strip_prefix("$ ") } else { line.strip_prefix("    ") };
            let needs_one =
                command.is_some_and(|command| OF_A_CHECKOUT.iter().any(|of| command.starts_with(of)));
            let before = introduction.iter().chain([&section]).any(|text| text.contains("checkout"));
            if needs_one && !before {
                silent.push(format!("{name}:{number}: {line}"));
            }
            section.push_str(line);
        }
    }
    assert!(silent.is_empty(), "no word of the checkout that these need:\n{}", silent.join("\n"));
}

#[test]
fn every_link_between_pages_leads_to_a_heading_that_exists() {
    let mut dead = Vec::new();
    for (name, text) in pages() {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let from = Path::new(ROOT).join(&name);
            let to = if file.is_empty() { from } else { from.parent().unwrap().join(file) };
            let is_there = to.exists() && (heading.is_empty() || headings(&to).any(|other| other == heading));
            if !is_there {
                dead.push(format!("{name}: {target}"));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// The headings of a page, as links name them.
fn headings(page: &Path) -> impl Iterator<Item = String> {
    let text = fs::read_to_string(page).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('#'));
    let names = lines.map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
    let names = names.map(|name| name.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect());
    names.collect::<Vec<_>>().into_iter()
}

/// A text between backticks, and where it is.
struct Quoted {
    place: String,
    text: String,
}

/// The name and the text of each page. The changelog is left out: it stays as it was written.
fn pages() -> impl Iterator<Item = (String, String)> {
    pages_in("").chain(pages_in("docs")).filter(|(name, _)| name != "CHANGELOG.md")
}

fn pages_in(directory: &str) -> impl Iterator<Item = (String, String)> {
    let files = fs::read_dir(Path::new(ROOT).join(directory)).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|end| end == "md"));
    files.map(|file| {
        let name = file.strip_prefix(ROOT).unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(&file).unwrap())
    })
}

fn quoted_in_pages() -> Vec<Quoted> {
    let mut all = Vec::new();
    for (name, text) in pages() {
        let mut in_block = false;
        for (number, line) in (1..).zip(text.lines()) {
            in_block ^= line.starts_with("```");
            let quoted = line.split('`').skip(1).step_by(2).filter(|_| !in_block);
            all.extend(
                quoted.map(|text| Quoted { place: format!("{name}:{number}"), text: text.to_owned() }),
            );
        }
    }
    assert!(all.len() > 500, "only {} quoted texts were found", all.len());
    all
}

/// The files that a name with `{a,b}` or `*` stands for; for `*`, the directory.
fn files_of(name: &str) -> impl Iterator<Item = String> {
    let name = match name.split_once('*') {
        Some((before, _)) => before.rsplit_once('/').unwrap().0,
        None => name,
    };
    let (before, choices, after) =
        match name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
            Some((before, (choices, after))) => (before, choices, after),
            None => (name, "", ""),
        };
    choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect::<Vec<_>>().into_iter()
}
