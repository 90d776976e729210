//! Tries the rows of a table.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

/// So many are tried at the same time: most of them wait for something.
const AT_ONCE: usize = 8;

/// Tries each row, and panics with those that fail.
#[track_caller]
pub fn try_rows<R: Debug + Copy + Send>(rows: impl IntoIterator<Item = R>, try_row: impl Fn(R) + Sync) {
    // Here, so that what is skipped has the test's name.
    let rows: Vec<R> = rows.into_iter().collect();
    let rows = Mutex::new(rows.into_iter());
    let next = || rows.lock().expect("rows").next();
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(row) = next() {
            if catch_unwind(AssertUnwindSafe(|| try_row(row))).is_err() {
                failed.lock().expect("rows").push(row);
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let failed: Vec<String> =
        failed.into_inner().expect("rows").iter().map(|row| format!("{row:?}")).collect();
    assert!(failed.is_empty(), "these rows fail:\n{}", failed.join("\n"));
}
