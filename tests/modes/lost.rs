//! A lock is lost, with the same result for every kind.

use super::{KINDS, queued, wait_until_it_runs, wait_until_it_waits};
use crate::support::{Case, DEADLINE, Proxy, Running, shared};

/// zklock's node on a path, which is the one that was created last.
fn last_node(case: &Case, path: &str) -> String {
    format!("{path}/{}", case.observer().children(path).pop().unwrap())
}

#[test]
fn in_every_kind_a_holder_whose_node_is_deleted_is_stopped_and_ends_with_123() {
    for kind in KINDS {
        let case = Case::new("kinds-deleted");
        for (index, path) in kind.paths(&case).into_iter().enumerate() {
            let holder = kind.holder(&case, &[]);
            case.observer().delete(&last_node(&case, &path));
            holder.wait(DEADLINE).assert_code(123).assert_stderr("its node was deleted by another client");
            for path in kind.paths(&case) {
                assert_eq!(case.observer().children(&path).len(), 0, "lock {index} lost: {path}");
            }
        }
    }
}

#[test]
fn in_every_kind_a_waiter_whose_node_is_deleted_never_runs() {
    for kind in KINDS {
        let case = Case::new("kinds-waiter-deleted");
        let holders = kind.fill(&case);
        for path in kind.paths(&case) {
            let waiter = kind.run(&case, &["-v"], "echo must not run");
            wait_until_it_waits(&waiter);
            case.observer().delete(&last_node(&case, &path));
            let output = waiter.wait(DEADLINE);
            output.assert_code(125).assert_stderr("its lock node was deleted by another client");
            assert_eq!(output.stdout, "");
        }
        holders.into_iter().for_each(super::end);
    }
}

#[test]
fn a_reader_whose_node_is_deleted_stops_alone() {
    let case = Case::new("reader-deleted");
    let readers: Vec<Running> = (1..=3).map(|n| queued(&case, &["-s"], n)).collect();
    readers.iter().for_each(wait_until_it_runs);
    case.observer().delete(&last_node(&case, case.path()));
    let mut readers = readers.into_iter();
    readers.next_back().unwrap().wait(DEADLINE).assert_code(123);
    assert!(readers.as_slice().iter().all(Running::is_running));
    readers.for_each(super::end);
}

/// Behind a hole in the network, each zklock stops its command by itself, before the session ends and another one can
/// run.
#[test]
fn in_every_kind_a_holder_that_is_cut_off_is_stopped_before_the_next_can_run() {
    let proxy = Proxy::to(shared());
    let cases: Vec<Case> = KINDS.iter().map(|_| Case::new("kinds-lease")).collect();
    let hosts = proxy.connect_string();
    let hold = |(kind, case)| {
        let history = Case::history(case);
        // Long enough to outlive the start of all others on a busy machine.
        let options = ["-z", &hosts, "--session-timeout", "10"];
        let holder = super::Kind::run(kind, case, &options, &history.endless_job("first"));
        case.wait_for_contenders(1);
        let mut words = vec!["-v"];
        words.extend(if kind.options == ["-s"] { &[][..] } else { kind.options });
        (holder, history, words)
    };
    let holders: Vec<_> = KINDS.iter().zip(&cases).map(hold).collect();
    let mut waiters = Vec::new();
    for ((kind, case), (_, history, words)) in KINDS.iter().zip(&cases).zip(&holders) {
        let begun = || history.sections().is_ok_and(|sections| !sections.is_empty());
        crate::support::wait_until("the first to run", DEADLINE, begun);
        if kind.options.contains(&"--slots") {
            // The other slot stays taken.
            waiters.push((kind.holder(case, &[]), false));
        }
        let next = case.lock(words, ["sh", "-c", &history.job("next", 0.0)]).spawn();
        wait_until_it_waits(&next);
        waiters.push((next, true));
    }
    proxy.blackhole();
    for (holder, _, _) in holders {
        holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost");
    }
    for (waiter, ends) in waiters {
        if ends {
            waiter.wait(DEADLINE).assert_code(0);
        } else {
            super::end(waiter);
        }
    }
    for case in &cases {
        let text = std::fs::read_to_string(case.dir().join("jobs.history")).unwrap();
        let after = text.lines().skip_while(|line| !line.contains(" next "));
        assert!(after.clone().next().is_some(), "the next ran:\n{text}");
        assert!(!after.clone().any(|line| line.contains(" first ")), "both at the same time:\n{text}");
    }
}
