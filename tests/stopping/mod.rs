//! The lock is lost while the command runs: zklock stops the command with all its processes.

mod descendants;
mod grace_period;
mod lease;

use crate::support::Case;

/// Deletes the lock node of the only contender, as an administrator might.
fn delete_node(case: &Case) {
    let contenders = case.wait_for_contenders(1);
    case.observer().delete(&format!("{}/{}", case.path(), contenders[0]));
}
