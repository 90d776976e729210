//! Checks docs/json.md and the core's messages against each other.

use std::collections::{BTreeMap, BTreeSet};

use super::said;

const PAGE: &str = include_str!("../../docs/json.md");

/// A row of the page's table: the levels, and the fields.
type Row = (BTreeSet<String>, BTreeSet<String>);

/// The words in backquotes of a cell.
fn words(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The page's table of events, without those that no run has.
fn table() -> BTreeMap<String, Row> {
    let (_, section) = PAGE.split_once("\n### Events\n").expect("a section on events");
    // The table of fields follows.
    let section = section.split("\n| field |").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`').to_owned(), (words(cells[2]), words(cells[4])))
    };
    let mut table: BTreeMap<String, Row> = rows.map(row).collect();
    for other in ["info", "debug", "left_out", "free"] {
        assert!(table.remove(other).is_some(), "{other}");
    }
    table
}

#[test]
fn the_page_has_every_event_with_its_levels_and_its_fields() {
    let mut found: BTreeMap<String, Row> = BTreeMap::new();
    for said in said() {
        let (levels, fields) = found.entry(said.event).or_default();
        let level = if ["Notice", "Step"].contains(&said.level.as_str()) { "Info" } else { &said.level };
        levels.insert(level.to_lowercase());
        fields.extend(said.fields.into_iter().map(|(name, _)| name));
    }
    assert_eq!(table(), found, "docs/json.md and the messages differ");
}

#[test]
fn the_page_explains_each_field_and_each_reason() {
    let (_, fields) = PAGE.split_once("\n### Fields of every message\n").expect("tables of fields");
    let (_, reasons) = PAGE.split_once("\n### Reasons\n").expect("a section on reasons");
    for said in said() {
        for (name, value) in &said.fields {
            let is_explained = match value.as_str() {
                Some(reason) if name == "reason" => reasons.contains(&format!("| `{reason}` |")),
                _ => fields.contains(&format!("`{name}`")),
            };
            assert!(is_explained, "{name}: {value} of {said:?}");
        }
    }
}

#[test]
fn an_error_has_a_reason() {
    for said in said() {
        assert!(said.event != "error" || said.fields["reason"].is_string(), "{said:?}");
        let is_error = ["error", "stopped"].contains(&said.event.as_str());
        assert_eq!(is_error, said.level == "Error", "{said:?}");
    }
}
