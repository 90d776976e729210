//! `zklock -v --version`: what the program was built from.

use std::env::consts::{ARCH, OS};
use std::ffi::OsString;

use clap::ArgAction;

use super::definition;
use super::definition::part_with;

/// Whether the command line, which has `--version`, has `-v` too, before it or after it.
pub(super) fn is_detailed(words: &[OsString]) -> bool {
    let definition =
        definition().mut_arg("version", |arg| arg.action(ArgAction::SetTrue)).ignore_errors(true);
    definition
        .try_get_matches_from(words)
        .is_ok_and(|matches| part_with(&matches, "verbose").get_count("verbose") > 0)
}

/// The version in the first line, as without `-v`, and what distinguishes builds of one version.
pub(super) fn detailed() -> String {
    // Set by `scripts/package`. There is no build script that could ask git (`core::planted` says why).
    let commit = option_env!("ZKLOCK_COMMIT").unwrap_or("unknown (built without ZKLOCK_COMMIT)");
    let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let sasl = if cfg!(feature = "gssapi") { "DIGEST-MD5, GSSAPI" } else { "DIGEST-MD5" };
    format!(
        "zklock {}\ncommit: {commit}\ntarget: {ARCH}-{OS}-{library}\nTLS: rustls\nSASL: {sasl}\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_detailed(line: &str) -> bool {
        super::is_detailed(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn only_v_on_zklock_s_own_command_line_asks_for_the_details() {
        for line in
            ["zklock -v --version", "zklock --version --verbose", "zklock -Vv", "zklock -V -vv --nonsense"]
        {
            assert!(is_detailed(line), "{line}");
        }
        for line in
            ["zklock --version", "zklock -V /locks/a -- ls -v", "zklock -q --version", "zklock -v -q -V"]
        {
            assert!(!is_detailed(line), "{line}");
        }
    }
}
