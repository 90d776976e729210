//! `--exit-code`, for scripts.

use super::{end, end_all, holder, status, waiter};
use crate::support::Case;
use zookeeper::CreateMode;

#[test]
fn the_exit_code_is_1_for_a_held_and_0_for_a_free_lock() {
    let case = Case::new("exit-code");
    status(&case, &["--exit-code", case.path()]).assert_code(0);
    let job = holder(&case, &[]);
    status(&case, &["--exit-code", case.path()]).assert_code(1);
    status(&case, &["--exit-code", "--json", case.path()]).assert_code(1);
    status(&case, &[case.path()]).assert_code(0);
    end(job);
    status(&case, &["--exit-code", case.path()]).assert_code(0);
}

#[test]
fn one_held_lock_among_several_counts() {
    let case = Case::new("exit-code-several");
    let contenders = vec![holder(&case, &["-s"]), waiter(&case, &[], 2)];
    status(&case, &["--exit-code", "/t/free-one", case.path(), "/t/free-two"]).assert_code(1);
    status(&case, &["--exit-code", "/t/free-one", "/t/free-two"]).assert_code(0);
    status(&case, &["--exit-code", "--recursive", case.path()]).assert_code(1);
    end_all(contenders);
}

/// Nobody holds a lock whose only node belongs to no session, and nobody can take it.
#[test]
fn a_persistent_node_holds_nothing() {
    let case = Case::new("status-persistent");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let node = case.observer().create(&name, "", CreateMode::PersistentSequential);
    let json = status(&case, &["--json", case.path()]).stdout;
    assert!(json.contains("\"state\": \"unowned\"") && json.contains(&node), "{json}");
    let table = status(&case, &["--exit-code", case.path()]).assert_code(0).stdout.clone();
    assert!(table.contains(&format!("{}  1 unowned\n", case.path())), "{table}");
    let behind = case.add_contender("behind");
    let table = status(&case, &["--exit-code", case.path()]).assert_code(0).stdout.clone();
    assert!(table.contains(&format!("{}  1 waiting, 1 unowned\n", case.path())), "{table}");
    for node in [node, behind] {
        case.observer().delete(&node);
    }
}
