//! One file: TOML with a flat table of keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Command;
use toml::Table;

use super::check;
use super::{AUTH, BadConfig, Definition, KEYS, id};
use crate::core::words::without_controls;
use crate::runtime::files::refuse_if_others_can_read;

/// A setting as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    key: &'static str,
    text: String,
    file: String,
}

impl Value {
    /// The key.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// The name that the command line's definition has for it.
    pub fn id(&self) -> String {
        id(self.key)
    }

    /// The value as the command line would have it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file that says it.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) values: Vec<Value>,
    pub(super) auth: Vec<String>,
    pub(super) file: String,
}

pub(super) fn read_file(definition: Definition, path: &Path) -> Result<Content, BadConfig> {
    let file = path.display().to_string();
    let unreadable = |why| BadConfig::Unreadable { file: file.clone(), why };
    let mut open = File::open(path).map_err(unreadable)?;
    let metadata = open.metadata().map_err(unreadable)?;
    let mut text = String::new();
    open.read_to_string(&mut text).map_err(unreadable)?;
    let content = understand(definition, &file, &text)?;
    if !content.auth.is_empty() {
        refuse_if_others_can_read(path, &metadata)
            .map_err(|why| BadConfig::Exposed { file: file.clone(), why: why.to_string() })?;
    }
    Ok(content)
}

/// Understands what a file says. Every value is checked, also one that the command line overrides: a mistake
/// that shows only now and then is found too late.
pub(super) fn understand(definition: Definition, file: &str, text: &str) -> Result<Content, BadConfig> {
    let table: Table = text.parse().map_err(|why: toml::de::Error| BadConfig::NotToml {
        file: file.to_owned(),
        why: one_line(&why, text),
    })?;
    let definition = definition();
    let mut content = Content { file: file.to_owned(), ..Content::default() };
    for (said, value) in &table {
        if said == AUTH {
            content.auth = check::lines(file, value)?;
            continue;
        }
        let key = known(&definition, file, said)?;
        if let Some(text) = check::text(&definition, file, key, value)? {
            check::as_option(&definition, file, key, &text)?;
            content.values.push(Value { key, text, file: file.to_owned() });
        }
    }
    Ok(content)
}

/// The key that is meant: dashes or underscores are the same.
fn known(definition: &Command, file: &str, said: &str) -> Result<&'static str, BadConfig> {
    let meant = said.replace('_', "-");
    if let Some(key) = KEYS.iter().find(|key| **key == meant) {
        return Ok(key);
    }
    Err(BadConfig::UnknownKey {
        file: file.to_owned(),
        key: without_controls(said),
        remedy: check::remedy(definition, &meant),
    })
}

/// The parser's words without its drawing of the place, but with the line.
fn one_line(why: &toml::de::Error, text: &str) -> String {
    let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let message = without_controls(&why.message().replace('\n', "; "));
    format!("line {}: {message}", before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::definition;

    fn said(text: &str) -> Result<Vec<(&'static str, String)>, String> {
        let content = understand(definition, "f.toml", text).map_err(|error| error.to_string())?;
        Ok(content.values.into_iter().map(|value| (value.key, value.text)).collect())
    }

    #[test]
    fn every_kind_of_value_is_taken_as_the_command_line_would_have_it() {
        let text = "zookeeper = 'zk1:2181,zk2:2181'\nkill-after = 2.5\nsession_timeout = 12\nquiet = true";
        let expected = [
            ("kill-after", "2.5"),
            ("quiet", "true"),
            ("session-timeout", "12"),
            ("zookeeper", "zk1:2181,zk2:2181"),
        ];
        let mut values = said(text).unwrap();
        values.sort_unstable();
        assert_eq!(values, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(said("quiet = false"), Ok(vec![]));
    }

    #[test]
    fn each_mistake_is_said_with_its_remedy() {
        for (text, expected) in [
            ("sesion-timeout = 5", "f.toml: unknown key 'sesion-timeout'; did you mean 'session-timeout'?"),
            ("zokeeper = 'a'", "f.toml: unknown key 'zokeeper'; did you mean 'zookeeper'?"),
            ("nonblock = true", "f.toml: unknown key 'nonblock'; a file can't set it, only the command line"),
            ("xyzzy = 1", "f.toml: unknown key 'xyzzy'; known are zookeeper, "),
            ("kill-after = 'soon'", "f.toml: kill-after: soon: not a time: write 90, 1.5, "),
            ("kill-after = -1", "f.toml: kill-after: -1: not a time: write 90, 1.5, "),
            ("kill-after = nan", "f.toml: kill-after: NaN: not a time: write 90, 1.5, "),
            ("kill-after = inf", "f.toml: kill-after: inf: not a time: write 90, 1.5, "),
            (
                "conflict-exit-code = 600",
                "f.toml: conflict-exit-code: 600: an exit code is a number from 0 to 255",
            ),
            ("naming = 'curatr'", "f.toml: naming: invalid value 'curatr'"),
            ("quiet = 'yes'", "f.toml: quiet: must be true or false"),
            ("zookeeper = ['a', 'b']", "f.toml: zookeeper: must be a string or a number"),
            ("[zookeeper]\nhosts = 'a'", "f.toml: zookeeper: must be a string or a number"),
            ("auth = 'x'", "f.toml: auth: must be a list of strings"),
            ("\nzookeeper = ", "f.toml: line 2: "),
        ] {
            let error = said(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_understood_or_refused(text in "\\PC{0,200}") {
            let _ = understand(definition, "f.toml", &text);
        }
    }
}
