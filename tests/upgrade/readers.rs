//! Readers and writers of two versions, in each naming that has them.

use super::{assert_they_wait, end, in_both_orders, wait_until_it_runs};
use crate::support::Case;

const NAMINGS: [&[&str]; 3] = [&[], &["--naming", "curator-rw"], &["--naming", "kazoo"]];

#[test]
fn readers_of_two_versions_share_and_writers_wait_for_both() {
    in_both_orders(|first, second| {
        for naming in NAMINGS {
            let case = Case::new("upgrade-readers");
            let reads = [naming, &["-s"]].concat();
            let readers = [first.hold(&case, &reads), second.queue(&case, &reads, 2)];
            wait_until_it_runs(&readers[1]);
            let writer = first.queue(&case, naming, 3);
            let later_reader = second.queue(&case, &reads, 4);
            assert_they_wait(&case, &[&writer, &later_reader]);
            let [first_reader, second_reader] = readers;
            end(first_reader);
            case.wait_for_contenders(3);
            assert_they_wait(&case, &[&writer, &later_reader]);
            end(second_reader);
            wait_until_it_runs(&writer);
            assert_they_wait(&case, &[&later_reader]);
            end(writer);
            wait_until_it_runs(&later_reader);
            end(later_reader);
        }
    });
}

#[test]
fn a_queue_in_another_naming_is_refused() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-naming");
        let holder = first.hold(&case, &["--naming", "kazoo"]);
        second.lock(&case, &[], "echo must not run").run().assert_code(125);
        end(holder);
    });
}
