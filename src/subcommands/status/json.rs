//! The JSON of `status`. `docs/status-json.md` specifies it: `version` changes if a field is removed or changes its
//! meaning, and new fields may be added at any time.

use anyhow::Result;
use serde::Serialize;

use super::super::listing::Lock;

const VERSION: u32 = 2;

#[derive(Serialize)]
struct StatusDocument<'a> {
    version: u32,
    locks: &'a [Lock],
}

/// The document, on several lines if `pretty`, or else on one line.
pub(super) fn text(locks: &[Lock], pretty: bool) -> Result<String> {
    let document = StatusDocument { version: VERSION, locks };
    let text =
        if pretty { serde_json::to_string_pretty(&document)? } else { serde_json::to_string(&document)? };
    Ok(text + "\n")
}
