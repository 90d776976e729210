//! This zklock and another version of it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One of two versions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    /// The program under test.
    This,
    /// The program that `ZKLOCK_OTHER` names.
    Other,
}

static OTHER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let program = std::env::var_os("ZKLOCK_OTHER").filter(|name| !name.is_empty()).map(PathBuf::from)?;
    assert!(program.is_file(), "ZKLOCK_OTHER names no program: {}", program.display());
    Some(program)
});

impl Version {
    /// Its program. There is none of the other version unless the environment names one.
    pub fn program(self) -> &'static Path {
        match self {
            Self::This => super::zklock_binary(),
            Self::Other => OTHER.as_deref().expect("checked by has_other_version"),
        }
    }
}

/// Whether another version is there. If it isn't, this test is skipped.
pub fn has_other_version() -> bool {
    let found = OTHER.is_some();
    if !found {
        super::skip("ZKLOCK_OTHER names no zklock of another version");
    }
    found
}
