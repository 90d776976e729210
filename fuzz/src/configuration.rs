//! A configuration file, whoever wrote it.

use zklock::config::{AUTH, Config, SETTINGS};

use super::shown::assert_harmless;

/// A file is refused in one line that names it, or every key of it is one that a file may set.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut config = Config::default();
    if let Err(error) = config.add("f.toml", text) {
        let said = format!("{error:#}");
        assert!(said.starts_with("f.toml: "), "{said:?}");
        assert_harmless(&said);
    }
    assert!(config.options().all(|(key, ..)| SETTINGS.contains(&key) && key != AUTH));
    assert!(config.source(AUTH).is_none_or(|source| source == "f.toml"));
}
