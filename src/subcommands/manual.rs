//! The manual page: the options from the definition of the command line, the rest from `manual.roff`.

use std::io::{self, Write};

use clap_mangen::Man;

use crate::cli::definition;

/// The date of the last change, which is shown at the bottom of the page.
const DATE: &str = "2026-11-28";

/// The sections around the options, which stand at its one comment.
const SECTIONS: &str = include_str!("manual.roff");

/// The manual page, in roff.
pub(super) fn manual() -> io::Result<Vec<u8>> {
    let (description, rest) = SECTIONS.split_once(".\\\" OPTIONS\n").unwrap_or((SECTIONS, ""));
    // clap_mangen leaves out the text of options that are hidden from the short help.
    let mut command = definition().mut_args(|arg| arg.hide_short_help(false));
    command.build();
    let mut text = Vec::new();
    let page = Man::new(command.clone()).date(DATE).manual("User Commands");
    page.render_title(&mut text)?;
    // No word is hyphenated: an option that is copied must not have another dash.
    writeln!(text, ".nh")?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    text.write_all(description.as_bytes())?;
    page.render_options_section(&mut text)?;
    writeln!(text, ".SH SUBCOMMANDS")?;
    for subcommand in command.get_subcommands() {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(text, ".SS zklock {}\n{}.", subcommand.get_name(), about.replace('-', "\\-"))?;
        let own = subcommand.clone().mut_args(|arg| {
            let is_shared = arg.is_global_set() || ["help", "verbose"].contains(&arg.get_id().as_str());
            if is_shared { arg.hide(true) } else { arg }
        });
        let mut options = Vec::new();
        Man::new(own).render_options_section(&mut options)?;
        text.write_all(String::from_utf8_lossy(&options).replace(".SH OPTIONS\n", "").as_bytes())?;
    }
    text.write_all(rest.as_bytes())?;
    Ok(text)
}
