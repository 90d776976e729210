//! Whom it asks: the holder, or those who are named.

use super::{end, holder, revoke, waiter};
use crate::support::{Case, SOON, Zklock};

#[test]
fn a_waiter_is_named_by_its_node_and_the_holder_keeps_the_lock() {
    let case = Case::new("revoke-node");
    let holder = holder(&case, &[]);
    for full in [false, true] {
        let (waiter, node) = waiter(&case, 2);
        let node = if full { format!("{}/{node}", case.path()) } else { node };
        assert!(revoke(&case, &["--node", &node]).assert_code(0).stdout.contains("asked to stop"));
        let output = waiter.wait(SOON);
        output.assert_code(125).assert_stderr("its place in the queue was revoked by");
        assert_eq!(output.stdout, "");
        case.wait_for_contenders(1);
        assert!(holder.is_running());
    }
    end(holder);
}

#[test]
fn all_are_asked_from_the_end_so_that_none_acquires_the_lock_meanwhile() {
    let case = Case::new("revoke-all");
    let holder = holder(&case, &[]);
    let waiters = [waiter(&case, 2).0, waiter(&case, 3).0];
    let pids = [waiters[1].pid(), waiters[0].pid(), holder.pid()];
    let output = revoke(&case, &["--all"]);
    let told: Vec<&str> = output.assert_code(0).stdout.lines().collect();
    assert_eq!(told.len(), 3, "{output}");
    for (line, pid) in told.iter().zip(pids) {
        assert!(line.contains(&format!(":{pid} ")) && line.ends_with(": asked to stop"), "{line}");
    }
    for waiter in waiters {
        assert_eq!(waiter.wait(SOON).assert_code(125).stdout, "");
    }
    holder.wait(SOON).assert_code(123);
}

#[test]
fn of_several_holders_one_has_to_be_named_or_all() {
    let case = Case::new("revoke-several");
    let holders = [holder(&case, &["-s"]), holder(&case, &["-s"])];
    let output = revoke(&case, &[]);
    output.assert_code(125).assert_stderr("2 hold it").assert_stderr("--node").assert_stderr("--all");
    output.assert_stderr(case.path());
    assert!(holders.iter().all(crate::support::Running::is_running));
    let [first, second] = holders;
    let nodes = case.contenders();
    revoke(&case, &["--node", &nodes[1]]).assert_code(0);
    second.wait(SOON).assert_code(123);
    // Now there is no doubt who is meant.
    revoke(&case, &[]).assert_code(0);
    first.wait(SOON).assert_code(123);
}

#[test]
fn a_holder_of_one_of_several_slots_is_asked_like_any_other() {
    let case = Case::new("revoke-slots");
    let holders = [holder(&case, &["--slots", "2"]), holder(&case, &["--slots", "2"])];
    revoke(&case, &["--all"]).assert_code(0);
    for holder in holders {
        holder.wait(SOON).assert_code(123).assert_stderr("revoked by");
    }
}

#[test]
fn without_a_holder_no_node_is_marked_and_the_code_is_1() {
    let case = Case::new("revoke-nobody");
    for words in [&[][..], &["--all"], &["--force"], &["--all", "--force"]] {
        let output = revoke(&case, words);
        output.assert_code(1).assert_stderr(case.path()).assert_stderr("it is free");
        assert_eq!(output.stdout, "");
    }
    let job = holder(&case, &[]);
    for words in [&["--node", "_c_nosuch-lock-0000000000"][..], &["--node", "nosuch", "--force"]] {
        let output = revoke(&case, words);
        output.assert_code(1).assert_stderr("no contender has the node").assert_stderr("zklock status");
    }
    assert!(job.is_running());
    end(job);
}

#[test]
fn below_a_chroot_it_finds_the_same_lock() {
    let case = Case::new("revoke-chroot");
    let job = holder(&case, &[]);
    let below = case.path().strip_prefix("/t").unwrap();
    let hosts = format!("{}/t", case.hosts());
    Zklock::at(&hosts, case.marker()).args(["revoke", below]).run().assert_code(0);
    job.wait(SOON).assert_code(123);
}
