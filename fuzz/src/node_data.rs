//! The data of somebody else's node, as the server gives it.

use zklock_core::queue::record::{Record, has_slot, revocation};
use zklock_core::text::printable;

use super::shown::assert_harmless;

/// More than this of what somebody else says doesn't reach a line of ours.
const LONGEST: usize = 81;

/// Any data is understood or ignored, and what is shown of it is short and harmless.
pub fn check(data: &[u8]) {
    let record = Record::from_bytes(data);
    if let Some(record) = &record {
        // Host and label, and between them a number and a few signs.
        assert_harmless(&record.to_string());
        assert!(record.to_string().chars().count() <= 2 * LONGEST + 16);
        let bytes = record.to_bytes();
        assert_eq!(Record::from_bytes(&bytes).as_ref(), Some(record));
        assert!(bytes.iter().all(|&byte| byte >= b' '), "one line");
    }
    if let Some(by) = revocation(data) {
        assert!(record.is_some() || data == b"__REVOKE__");
        let by = by.unwrap_or_default();
        assert_shown(&by, &by);
    }
    assert_eq!(has_slot(data), record.is_some_and(|record| record.has_slot));
    let text = String::from_utf8_lossy(data);
    assert_shown(&printable(&text), &text);
}

#[track_caller]
fn assert_shown(shown: &str, text: &str) {
    assert_harmless(shown);
    assert!(shown.chars().count() <= LONGEST);
    assert_eq!(printable(shown), shown, "shown again it is the same: {text:?}");
}
