//! A configuration file, whoever wrote it.

use zklock::cli::definition;
use zklock::config::{AUTH, Config, KEYS};

use super::shown::assert_harmless;

/// A file is refused in one line that names it, or every key of it is one that a file may set.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Config::parse(&definition(), "f.toml", text) {
        Err(error) => {
            let said = error.to_string();
            assert!(said.starts_with("f.toml: "), "{said:?}");
            assert_harmless(&said);
        }
        Ok(config) => {
            assert!(config.values().all(|value| KEYS.contains(&value.key()) && value.key() != AUTH));
            assert!(config.auth().is_none_or(|auth| auth.file == "f.toml"));
        }
    }
}
