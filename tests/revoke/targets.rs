//! The contenders that `revoke` chooses: the holder, or the ones that the options name.

use super::{end, holder, revoke, waiter};
use crate::support::{At, Case, DEADLINE, Proxy, Zklock, op, shared};

#[test]
fn a_waiter_can_be_revoked_by_its_node_name() {
    let case = Case::new("revoke-node");
    let holder = holder(&case, &[]);
    for full in [false, true] {
        let (waiter, node) = waiter(&case, 2);
        let node = if full { format!("{}/{node}", case.path()) } else { node };
        assert!(revoke(&case, &["--node", &node]).assert_code(0).stdout.contains("asked to stop"));
        let output = waiter.wait(DEADLINE);
        output.assert_code(125).assert_stderr("its place in the queue was revoked by");
        assert_eq!(output.stdout, "");
        case.wait_for_contenders(1);
        assert!(holder.is_running());
    }
    end(holder);
}

#[test]
fn a_contender_that_is_asked_before_it_knows_of_its_own_node_never_runs() {
    let proxy = Proxy::to(shared());
    let case = Case::new("revoke-unknown");
    case.observer().mkdirs(case.path());
    proxy.once(op::CREATE, At::Hold);
    let contender = Zklock::at(&proxy.connect_string(), case.marker());
    let contender = contender.args([case.path(), "--", "echo", "ran"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    proxy.blackhole_to_client();
    proxy.release();
    case.wait_for_contenders(1);
    assert!(revoke(&case, &[]).assert_code(0).stdout.contains("asked to stop"));
    proxy.cut_all();
    proxy.pass();
    let output = contender.wait(DEADLINE);
    output.assert_code(125).assert_stderr("its place in the queue was revoked by");
    assert_eq!(output.stdout, "");
}

#[test]
fn revoke_waiting_leaves_the_holder_alone() {
    let case = Case::new("revoke-waiting");
    let nobody = format!("zklock: {}: nobody waits for it\n", case.path());
    assert_eq!(revoke(&case, &["--waiting"]).assert_code(1).stderr, nobody);
    let holder = holder(&case, &[]);
    let waiters = [waiter(&case, 2).0, waiter(&case, 3).0];
    let output = revoke(&case, &["--waiting"]);
    let asked = |line: &str| waiters.iter().position(|one| line.contains(&format!(":{} ", one.pid())));
    let lines: Vec<_> = output.assert_code(0).stdout.lines().map(asked).collect();
    assert_eq!(lines, [Some(1), Some(0)], "{output}");
    for waiter in waiters {
        assert_eq!(waiter.wait(DEADLINE).assert_code(125).stdout, "");
    }
    case.wait_for_contenders(1);
    assert!(holder.is_running());
    assert_eq!(revoke(&case, &["--waiting"]).assert_code(1).stderr, nobody);
    end(holder);
}

#[test]
fn revoke_all_starts_at_the_end_of_the_queue_so_that_no_waiter_runs() {
    let case = Case::new("revoke-all");
    let holder = holder(&case, &[]);
    let waiters = [waiter(&case, 2).0, waiter(&case, 3).0];
    let pids = [waiters[1].pid(), waiters[0].pid(), holder.pid()];
    let output = revoke(&case, &["--all"]);
    let lines: Vec<&str> = output.assert_code(0).stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{output}");
    for (line, pid) in lines.iter().zip(pids) {
        assert!(line.contains(&format!(":{pid} ")) && line.ends_with(": asked to stop"), "{line}");
    }
    for waiter in waiters {
        assert_eq!(waiter.wait(DEADLINE).assert_code(125).stdout, "");
    }
    holder.wait(DEADLINE).assert_code(123);
}

#[test]
fn with_several_holders_revoke_needs_a_node_or_all() {
    let case = Case::new("revoke-several");
    let holders = [holder(&case, &["-s"]), holder(&case, &["-s"])];
    let output = revoke(&case, &[]);
    output.assert_code(125).assert_stderr("2 hold it").assert_stderr("--node").assert_stderr("--all");
    output.assert_stderr(case.path());
    assert!(holders.iter().all(crate::support::Running::is_running));
    let [first, second] = holders;
    let nodes = case.contenders();
    revoke(&case, &["--node", &nodes[1]]).assert_code(0);
    second.wait(DEADLINE).assert_code(123);
    // With a single holder left, no option is needed.
    revoke(&case, &[]).assert_code(0);
    first.wait(DEADLINE).assert_code(123);
}

#[test]
fn a_holder_of_a_slot_can_be_revoked() {
    let case = Case::new("revoke-slots");
    let holders = [holder(&case, &["--slots", "2"]), holder(&case, &["--slots", "2"])];
    revoke(&case, &["--all"]).assert_code(0);
    for holder in holders {
        holder.wait(DEADLINE).assert_code(123).assert_stderr("revoked by");
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

/// The name alone would be that of a contender of this lock.
#[test]
fn a_node_elsewhere_is_refused_before_anything_is_touched() {
    let case = Case::new("revoke-elsewhere");
    let job = holder(&case, &[]);
    let name = case.contenders()[0].clone();
    let path = case.path();
    for node in
        [format!("/other/{name}"), format!("{path}/x/{name}"), format!("x/{name}"), format!("{path}x/{name}")]
    {
        for words in [&[][..], &["--force"]] {
            let output = revoke(&case, &[&["--node", &node], words].concat());
            output.assert_code(125).assert_stderr(&format!("'{node}' isn't a node of {path}"));
        }
    }
    assert!(job.is_running());
    revoke(&case, &["--node", &format!("{path}/{name}")]).assert_code(0);
    job.wait(DEADLINE).assert_code(123);
}

#[test]
fn revoke_finds_a_lock_below_a_chroot() {
    let case = Case::new("revoke-chroot");
    let job = holder(&case, &[]);
    let below = case.path().strip_prefix("/t").unwrap();
    let hosts = format!("{}/t", case.hosts());
    Zklock::at(&hosts, case.marker()).args(["revoke", below]).run().assert_code(0);
    job.wait(DEADLINE).assert_code(123);
}
