//! `status --show-config`: prints the settings in effect as a configuration file, with the source of each as a comment.

use toml::Value;

use crate::cli::{Setting, Source};

/// A configuration file with the settings in effect. Defaults, and settings without a value, are shown as comments.
pub(super) fn toml(settings: &[Setting]) -> String {
    let width = settings.iter().map(|setting| line(setting).len()).max().unwrap_or(0);
    let lines = settings.iter().map(|setting| format!("{:width$}  # {}", line(setting), setting.source));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn line(setting: &Setting) -> String {
    match &setting.value {
        Some(value) => {
            let off = if setting.source == Source::Default { "# " } else { "" };
            format!("{off}{} = {}", setting.key, toml_value(value, setting.is_switch))
        }
        None => format!("# {} is not set", setting.key),
    }
}

/// The value in TOML: a switch, and a number that is read as the same text, without quotes; everything else as a string.
fn toml_value(text: &str, is_switch: bool) -> String {
    let is_bare = match text.parse() {
        Ok(Value::Boolean(_)) => is_switch,
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
            value: value.map(str::to_owned),
            is_switch: false,
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
