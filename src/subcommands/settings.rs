//! `status --show-config`: prints the settings in effect as a configuration file, with the source of each as a comment.

use toml::Value;

use crate::cli::{Setting, SettingValue, Source};

/// A configuration file with the settings in effect. Defaults, and settings without a value or with a hidden one, are
/// shown as comments.
pub(super) fn toml(settings: &[Setting]) -> String {
    let width = settings.iter().map(|setting| line(setting).len()).max().unwrap_or(0);
    let lines = settings.iter().map(|setting| format!("{:width$}  # {}", line(setting), setting.source));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn line(setting: &Setting) -> String {
    let (key, off) = (setting.key, if setting.source == Source::Default { "# " } else { "" });
    match &setting.value {
        SettingValue::Unset => format!("# {key} is not set"),
        SettingValue::Hidden => format!("# {key} is hidden; copy it from there"),
        SettingValue::Switch(value) => format!("{off}{key} = {value}"),
        SettingValue::Text(value) => format!("{off}{key} = {}", toml_value(value)),
    }
}

/// The text in TOML: a number that is read as the same text without quotes, everything else as a string.
fn toml_value(text: &str) -> String {
    let is_bare = match text.parse() {
        Ok(Value::Integer(number)) => number.to_string() == text,
        Ok(Value::Float(number)) => number.is_finite() && number.to_string() == text,
        _ => false,
    };
    if is_bare { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_a_file_with_the_source_of_each() {
        let setting = |key, value: Option<&str>, source| Setting {
            key,
            value: value.map_or(SettingValue::Unset, |value| SettingValue::Text(value.to_owned())),
            source,
        };
        let text = toml(&[
            setting("zookeeper", Some("zk1:2181"), Source::CommandLine),
            setting("kill-after", Some("2.5"), Source::File("/etc/zklock.toml".to_owned())),
            setting("signal", Some("TERM"), Source::Default),
            setting("timeout", None, Source::Default),
        ]);
        let expected = [
            "zookeeper = \"zk1:2181\"  # command line",
            "kill-after = 2.5        # /etc/zklock.toml",
            "# signal = \"TERM\"       # default",
            "# timeout is not set    # default",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert!(text.parse::<toml::Table>().is_ok_and(|table| table.len() == 2));
    }
}
