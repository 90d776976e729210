//! Which mistake is planted: `ZKLOCK_PLANTED` names it, in a build with `--cfg planted`.

use clap::ValueEnum;

use crate::core::planted::Mistake;

/// The mistake that the environment names.
///
/// # Panics
/// If it names none: a test of nothing would pass.
#[allow(clippy::panic, reason = "only tests build this, and they have to hear of it at once")]
pub fn named() -> Option<Mistake> {
    let name = std::env::var_os("ZKLOCK_PLANTED")?;
    let mistake = name.to_str().and_then(|name| Mistake::from_str(name, false).ok());
    Some(mistake.unwrap_or_else(|| panic!("ZKLOCK_PLANTED={}: no such mistake", name.display())))
}
