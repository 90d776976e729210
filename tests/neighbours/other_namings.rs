//! A path belongs to one naming scheme: clients of the others don't see its nodes, so neither would exclude the other.

use super::{
    CURATOR, CURATOR_SHARED, KAZOO, KAZOO_READ, RW_READ, RW_WRITE, end, start_zklock, take_neighbour_lock,
    wait_until_it_runs,
};
use crate::support::Case;

const ALL: [(&str, &[&str]); 6] = [
    ("curator", CURATOR),
    ("curator", CURATOR_SHARED),
    ("curator-rw", RW_WRITE),
    ("curator-rw", RW_READ),
    ("kazoo", KAZOO),
    ("kazoo", KAZOO_READ),
];

#[test]
fn a_path_with_a_contender_of_another_naming_is_refused() {
    for (kind, family) in [("mutex", "curator"), ("write", "curator-rw"), ("kazoo lock", "kazoo")] {
        let case = Case::new("other-family");
        let holder = take_neighbour_lock(&case, kind);
        holder.wait_held();
        for (_, options) in ALL.iter().filter(|(zklock, _)| *zklock != family) {
            for more in [&[][..], &["-n", "-E", "0"], &["-w", "30"]] {
                let options = [more, options].concat();
                let refused = case.lock(&options, ["echo", "must not run"]).run();
                refused.assert_code(125).assert_stderr("is queued here and follows the naming of");
                refused.assert_stderr(&format!(
                    "the naming of {family}, whose clients don't see zklock's nodes"
                ));
                assert_eq!(refused.stdout, "");
            }
        }
        assert_eq!(case.contenders().len(), 1, "only the neighbour's node is left");
        holder.give();
        case.lock(ALL[0].1, ["true"]).run().assert_code(0);
    }
}

/// Shows why zklock refuses: a path can't serve two naming schemes.
#[test]
fn curator_does_not_see_kazoo_s_names() {
    let case = Case::new("unseen");
    let holder = start_zklock(&case, KAZOO);
    wait_until_it_runs(&holder);
    let mutex = take_neighbour_lock(&case, "mutex");
    mutex.wait_held();
    assert!(holder.is_running(), "both hold: zklock can't make the neighbour refuse");
    let refused = case.lock(KAZOO, ["true"]).run();
    refused.assert_code(125).assert_stderr("the naming of curator");
    mutex.give();
    end(holder);
}
