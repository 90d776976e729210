//! Reads which mistake is planted in a build with `--cfg planted`: `ZKLOCK_PLANTED` names it.

use zklock_core::planted::Mistake;

/// The mistake named by the environment; `None` if the variable isn't set.
///
/// # Panics
/// If there is no mistake of this name: a test that plants nothing would prove nothing.
#[allow(clippy::panic, reason = "only tests build this, and they must notice an unknown name immediately")]
pub fn named() -> Option<Mistake> {
    let name = std::env::var_os("ZKLOCK_PLANTED")?;
    let mistake = name.to_str().and_then(|name| name.parse().ok());
    Some(mistake.unwrap_or_else(|| panic!("ZKLOCK_PLANTED={}: no such mistake", name.display())))
}
