//! Nodes that only the same credentials may use.

use super::{assert_they_wait, end, in_both_orders, wait_until_it_runs};
use crate::support::Case;
use std::os::unix::fs::PermissionsExt;

const ALICE: &str = "alice:wonder";

#[test]
fn two_versions_with_the_same_credentials_share_a_queue() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-auth").authenticated_as(ALICE);
        let file = case.dir().join("auth");
        std::fs::write(&file, format!("digest:{ALICE}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let options = ["--auth-file", file.to_str().unwrap()];
        let holder = first.hold(&case, &options);
        let waiter = second.queue(&case, &options, 2);
        let last = first.queue(&case, &options, 3);
        assert_they_wait(&case, &[&waiter, &last]);
        end(holder);
        wait_until_it_runs(&waiter);
        second.zklock(&case).args(options).args(["revoke", case.path()]).run().assert_code(0);
        waiter.wait(crate::support::DEADLINE).assert_code(123);
        wait_until_it_runs(&last);
        end(last);
    });
}
