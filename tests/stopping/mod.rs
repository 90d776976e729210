//! The lock is lost while the command runs: the command is stopped, all of it, before zklock lets go.

mod descendants;
mod grace;
mod lease;

use crate::support::Case;

/// Deletes the lock node of the only contender, as an operator might.
fn delete_node(case: &Case) {
    let contenders = case.wait_for_contenders(1);
    case.observer().delete(&format!("{}/{}", case.path(), contenders[0]));
}
