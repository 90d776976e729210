//! The manual page, generated from the definition of the command line.

use std::io::{self, Write};

use clap::Arg;
use clap_mangen::Man;

use super::manual_text;
use crate::cli::definition;

/// The manual page, in roff.
pub fn manual() -> io::Result<Vec<u8>> {
    // clap_mangen leaves out the text of options that are hidden from the short help.
    let mut command = definition().mut_args(|arg| arg.hide_short_help(false));
    command.build();
    let mut text = Vec::new();
    let page = Man::new(command.clone()).date(manual_text::DATE).manual("User Commands");
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    text.write_all(manual_text::DESCRIPTION.as_bytes())?;
    page.render_options_section(&mut text)?;
    subcommands(&mut text)?;
    text.write_all(manual_text::REST.as_bytes())?;
    Ok(text)
}

/// The section about the subcommands, each with its own options.
fn subcommands(text: &mut Vec<u8>) -> io::Result<()> {
    writeln!(text, ".SH SUBCOMMANDS")?;
    let mut definition = definition();
    definition.build();
    for subcommand in definition.get_subcommands() {
        writeln!(text, ".SS zklock {}", subcommand.get_name())?;
        writeln!(text, "{}.", roff(&subcommand.get_about().map(ToString::to_string).unwrap_or_default()))?;
        let is_own = |arg: &&Arg| !arg.is_global_set() && arg.get_id() != "help" && arg.get_id() != "verbose";
        for arg in subcommand.get_arguments().filter(is_own) {
            let value = arg.get_value_names().unwrap_or_default().first().map(ToString::to_string);
            let value = value.filter(|_| arg.get_action().takes_values());
            let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR, ")).unwrap_or_default();
            let name = match (arg.get_long(), value) {
                (Some(long), Some(value)) => format!("{short}\\fB\\-\\-{}\\fR \\fI{value}\\fR", roff(long)),
                (Some(long), None) => format!("{short}\\fB\\-\\-{}\\fR", roff(long)),
                (None, value) => format!("\\fI{}\\fR", value.unwrap_or_default()),
            };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(text, ".TP\n{name}\n{}", roff(&help))?;
        }
    }
    Ok(())
}

/// Escapes plain text for roff. `\-` is an ASCII dash, so that an option can be copied from the page.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
