//! Two that meet on a path: does the first exclude the second, do they share the lock, or is the second refused?
//!
//! A row has those that hold the lock, those that each come next, and what then happens. [`ROWS`] are zklocks, which
//! two versions try too, and [`NEIGHBOURS`] others.

use super::party::{Kind, Spec};
use super::stories::take_steps;
use super::{Queue, THIS, parties};
use crate::support::{DEADLINE, Version, host, try_rows};
use serde_json::Value;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    /// The second waits or, with `-n` and `-w`, doesn't wait or gives up.
    Excludes,
    /// Both hold.
    Shares,
    /// A zklock doesn't run and doesn't wait, whatever its options are; it says this.
    Refuses(&'static str),
}

use Relation::{Excludes, Refuses, Shares};

type Row = (&'static str, &'static str, Relation);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("zklock", "zklock", Excludes),
    ("zklock", "zklock -s", Excludes),
    ("zklock -s", "zklock", Excludes),
    ("2 of zklock -s", "zklock -x", Excludes),
    // It is told who holds, and not which writer is ahead of it.
    ("zklock -s, zklock -x", "zklock -s", Excludes),
    ("zklock -s", "zklock -s", Shares),
    ("zklock", "wait", Excludes),
    ("2 of zklock --slots 2", "zklock --slots 2", Excludes),
    ("zklock --slots 2", "zklock --slots 2", Shares),
    ("zklock b a", "zklock a", Excludes),
    ("zklock --slots 2", "zklock --slots 3", Refuses("for one of 2 slots, and this is for one of 3 slots")),
    ("zklock --slots 3", "zklock --slots 2", Refuses("for one of 3 slots, and this is for one of 2 slots")),
    ("zklock --slots 2", "zklock", Refuses("for one of 2 slots, and this is for an exclusive lock")),
    ("zklock --slots 2", "zklock -s", Refuses("for one of 2 slots, and this is for a shared lock")),
    ("zklock", "zklock --slots 2", Refuses("for an exclusive lock, and this is for one of 2 slots")),
    ("zklock -s", "zklock --slots 2", Refuses("for a shared lock, and this is for one of 2 slots")),
    ("zklock --naming kazoo", "zklock", Refuses(KAZOO)),
    ("zklock --naming kazoo -s", "zklock --naming curator-rw -s", Refuses(KAZOO)),
    ("zklock", "zklock --naming kazoo", Refuses(CURATOR)),
];

const CURATOR: &str = "is queued here and follows the naming of curator, whose clients don't see zklock's nodes: \
    --naming curator queues with it";
const CURATOR_RW: &str = "is queued here and follows the naming of curator-rw, whose clients don't see zklock's nodes: \
    --naming curator-rw queues with it";
const KAZOO: &str = "is queued here and follows the naming of kazoo, whose clients don't see zklock's nodes: \
    --naming kazoo queues with it";
const RECIPE: &str =
    "looks like a node of another lock recipe, which would run beside zklock: choose another path";

#[rustfmt::skip]
const NEIGHBOURS: &[Row] = &[
    ("curator mutex", "zklock, zklock -s, wait", Excludes),
    ("zklock", "curator mutex", Excludes),
    ("zklock -s", "curator mutex", Excludes),
    ("2 of zklock --slots 2", "curator mutex", Excludes),
    ("curator write", "zklock --naming curator-rw, zklock --naming curator-rw -s, wait", Excludes),
    ("curator read", "zklock --naming curator-rw, wait", Excludes),
    ("curator read", "zklock --naming curator-rw -s", Shares),
    ("zklock --naming curator-rw", "curator write, curator read", Excludes),
    ("zklock --naming curator-rw -s", "curator write", Excludes),
    ("zklock --naming curator-rw -s", "curator read", Shares),
    ("kazoo lock", "zklock --naming kazoo, wait", Excludes),
    ("kazoo named", "zklock --naming kazoo", Excludes),
    ("kazoo write", "zklock --naming kazoo, zklock --naming kazoo -s, wait", Excludes),
    ("kazoo read", "zklock --naming kazoo, wait", Excludes),
    ("kazoo read", "zklock --naming kazoo -s", Shares),
    ("zklock --naming kazoo", "kazoo lock, kazoo write, kazoo read", Excludes),
    ("zklock --naming kazoo -s", "kazoo write", Excludes),
    ("zklock --naming kazoo -s", "kazoo read", Shares),
    // Clients that write no uuid, or that write it without dashes, as go-zookeeper does; and readers.
    ("node lock-", "zklock", Excludes),
    ("node _c_9a2c3f607a5e4d5b8a670123456789ab-lock-", "zklock", Excludes),
    ("node _c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-read-lock-", "zklock", Excludes),
    ("curator mutex", "zklock --slots 2", Refuses("for an exclusive lock, and this is for one of 2 slots")),
    ("curator mutex", OF_CURATOR_RW, Refuses(CURATOR)),
    ("curator mutex", OF_KAZOO, Refuses(CURATOR)),
    ("curator write", OF_CURATOR, Refuses(CURATOR_RW)),
    ("curator write", OF_KAZOO, Refuses(CURATOR_RW)),
    ("kazoo lock", OF_CURATOR, Refuses(KAZOO)),
    ("kazoo lock", OF_CURATOR_RW, Refuses(KAZOO)),
    // Shows why: a path can't serve two namings, since zklock can't make the neighbour refuse.
    ("zklock --naming kazoo, curator mutex", "zklock --naming kazoo", Refuses(CURATOR)),
    // Their clients ignore zklock's nodes.
    ("curator semaphore", ANY, Refuses(RECIPE)),
    ("curator semaphore-mutex", ANY, Refuses(RECIPE)),
    ("curator latch", ANY, Refuses(RECIPE)),
    ("curator write-lock", ANY, Refuses(RECIPE)),
    ("curator election", ANY, Refuses(RECIPE)),
    ("kazoo semaphore", ANY, Refuses(RECIPE)),
    // A name decides, whether or not its owner is alive: an empty semaphore may be taken at any time.
    ("node leases persistent", "zklock", Refuses(RECIPE)),
    ("node locks container", "zklock", Refuses(RECIPE)),
    ("node write- numbered", "zklock", Refuses(RECIPE)),
    ("node ex-", "zklock", Refuses(RECIPE)),
];

const OF_CURATOR: &str = "zklock, zklock -s";
const OF_CURATOR_RW: &str = "zklock --naming curator-rw, zklock --naming curator-rw -s";
const OF_KAZOO: &str = "zklock --naming kazoo, zklock --naming kazoo -s";
const ANY: &str = "zklock, zklock -s, zklock --slots 2, zklock --naming kazoo, zklock --naming curator-rw";

#[test]
fn zklocks_exclude_each_other_share_or_refuse() {
    try_pairs(THIS);
}

#[test]
fn zklocks_and_neighbours_exclude_each_other_share_or_refuse() {
    try_rows(each(NEIGHBOURS), |pair| try_pair(THIS, pair));
}

/// Tries all pairs of zklocks with these versions.
#[track_caller]
pub(crate) fn try_pairs(versions: [Version; 2]) {
    try_rows(each(ROWS), |pair| try_pair(versions, pair));
}

/// The rows with one of those that come next in each.
fn each(rows: &'static [Row]) -> impl Iterator<Item = Row> {
    rows.iter().flat_map(|(first, next, relation)| next.split(", ").map(|next| (*first, next, *relation)))
}

fn try_pair(versions: [Version; 2], (first, next, relation): Row) {
    match relation {
        Excludes => excludes(versions, first, next),
        Shares => {
            let mut queue = Queue::new(versions);
            queue.add_all(&[first, next]);
            take_steps(&mut queue, [first].into_iter(), "1 2; end 1: 2; come: 2 3; end 2: 3");
            queue.finish();
        }
        Refuses(says) => refuses(versions, first, next, says),
    }
}

/// They come in turn, three times if one suffices to exclude the next. All is tried while the first holds; then they leave.
fn excludes(versions: [Version; 2], first: &str, next: &str) {
    let mut queue = Queue::new(versions);
    let firsts: Vec<&str> = parties(first).collect();
    let rounds = if firsts.len() == 1 { 3 } else { 1 };
    for _ in 0..rounds {
        firsts.iter().chain([&next]).for_each(|party| queue.add(party));
    }
    let holders = queue.holders();
    assert!(!holders.contains(&(firsts.len() + 1)), "{holders:?}");
    let spec = Spec::new(next);
    if matches!(spec.kind, Kind::Zklock | Kind::Wait) {
        is_busy(&queue, &spec, &holders);
    }
    if spec.has_own_path() && queue.member(1).spec.has_own_path() {
        is_shown(&queue, &holders);
        // A holder writes into its node, which wakes the one behind it.
        if queue.member(1).spec.kind == Kind::Zklock && versions[0] == Version::This {
            queue.case.wait_for_held_since(1);
        }
    }
    queue.assert_holders(&holders);
    let steps = match (firsts.len(), holders.len()) {
        (1, _) => order_of_six(&Spec::new(first), &spec),
        (_, 1) => "end 2: 1 3; end 1: 3".to_owned(),
        _ => "end 1 2: 3".to_owned(),
    };
    take_steps(&mut queue, [].into_iter(), &steps);
    queue.finish();
    runs_at_once(&queue, &spec);
}

/// zklock leaves in every way.
fn order_of_six(first: &Spec, next: &Spec) -> String {
    let [a, b, c] = if first.kind == Kind::Zklock { ["kill", "revoke", "force"] } else { ["end"; 3] };
    match next.kind {
        // It holds when it has ended, and waits for nobody who comes later.
        Kind::Wait if first.is_shared() => format!("1 3 5; {a} 1: 2 3 5; {b} 3: 2 4 5; {c} 5: 2 4 6"),
        Kind::Wait => format!("1; {a} 1: 2 3; {b} 3: 2 4 5; {c} 5: 2 4 6"),
        // The second one leaves while it waits. Only readers behind it are let in.
        Kind::Zklock if first.is_shared() => format!("1; {a} 1: 2; end 2: 3; end 4: 3 5; {b} 3: 5; {c} 5: 6"),
        Kind::Zklock => format!("1; {a} 1: 2; end 2: 3; end 4: 3; {b} 3: 5; {c} 5: 6"),
        _ => format!("1; {a} 1: 2; end 2: 3; {b} 3: 4; end 4: 5; {c} 5: 6"),
    }
}

/// Another one like the next doesn't wait, or gives up, and leaves nothing.
fn is_busy(queue: &Queue, spec: &Spec, holders: &[usize]) {
    let is_this = queue.versions == THIS;
    // Versions word it differently, and may not know `-E`.
    let calls: &[(&[&str], i32)] = if is_this {
        &[(&["-w", "8", "-E", "3"], 3), (&["-n"], 124), (&["-n", "-E", "7"], 7), (&["-w", "0", "-E", "0"], 0)]
    } else {
        &[(&["-w", "8"], 124), (&["-n"], 124)]
    };
    let nodes = queue.nodes();
    let (path, _) = queue.member(1).node.rsplit_once('/').unwrap();
    let held_by = if let [holder] = holders { queue.name(*holder) } else { String::new() };
    let busy = [format!("{path}: busy: gave up after"), format!("{path}: busy: held by {held_by}")];
    let calls: Vec<_> =
        calls.iter().map(|(options, code)| (queue.call(spec, options, "echo ran").spawn(), code)).collect();
    for (index, (running, code)) in calls.into_iter().enumerate() {
        let output = running.wait(DEADLINE);
        assert_eq!(output.assert_code(*code).stdout, "");
        // zklock counts from its own start, which is a little later than the harness's.
        assert!(index > 0 || output.elapsed >= Duration::from_millis(7900), "{output}");
        let of_other = if index == 0 { "busy" } else { held_by.split(' ').next().unwrap() };
        output.assert_stderr(if is_this { &busy[index.min(1)] } else { of_other });
    }
    assert_eq!(queue.nodes(), nodes, "those who gave up left nothing");
}

fn runs_at_once(queue: &Queue, spec: &Spec) {
    if spec.kind == Kind::Zklock {
        let output = queue.call(spec, &["-n"], "echo ran; exit 3").run();
        assert_eq!(output.assert_code(3).stdout, "ran\n");
    }
}

/// What `status` says of who holds, who waits, and what they are.
fn is_shown(queue: &Queue, holders: &[usize]) {
    let status = |version: Version, option: &str| {
        let zklock = queue.case.zklock().program(version.program());
        zklock.args(["status", option, queue.case.path()]).run()
    };
    let contenders: Vec<_> = queue.members().filter(|(_, member)| member.spec.kind != Kind::Wait).collect();
    let text = status(Version::This, "--exit-code").assert_code(1).stdout.clone();
    let counts = format!("held by {}, {} waiting", holders.len(), contenders.len() - holders.len());
    assert!(text.contains(&counts) || contenders.len() == holders.len(), "{text}");
    let by_both = queue.versions != THIS;
    for version in &queue.versions[usize::from(!by_both)..] {
        let json: Value = serde_json::from_str(&status(*version, "--json").assert_code(0).stdout).unwrap();
        let shown = json["locks"][0]["contenders"].as_array().unwrap();
        assert_eq!(shown.len(), contenders.len());
        for ((number, member), shown) in contenders.iter().zip(shown) {
            let (mode, slots, naming) = member.spec.described();
            let state = if holders.contains(number) { "held" } else { "waiting" };
            let zklock = member.party.zklock();
            let pid = zklock.map_or(Value::Null, |zklock| zklock.pid().as_raw().into());
            assert_eq!((&shown["state"], &shown["mode"], &shown["pid"]), (&state.into(), &mode.into(), &pid));
            if by_both {
                continue;
            }
            assert_eq!((&shown["slots"], &shown["naming"]), (&slots.into(), &naming.into()), "{shown}");
            assert!(shown["fencing_token"].as_i64().unwrap() > 0, "{shown}");
            let data = queue.case.observer().data(&member.node).filter(|data| !data.is_empty());
            assert!(zklock.is_some() || text.contains(data.as_deref().unwrap_or_default()), "{text}");
            let (address, identifier) = match member.spec.kind {
                Kind::Zklock => (Some(host()), None),
                Kind::Curator => (data, None),
                _ => (None, data),
            };
            assert_eq!((&shown["host"], &shown["label"]), (&address.into(), &identifier.into()), "{shown}");
        }
    }
}

/// No option lets the next one run or wait beside the first, and it leaves nothing.
fn refuses(versions: [Version; 2], first: &str, next: &str, says: &str) {
    let mut queue = Queue::new(versions);
    let spec = Spec::new(next);
    // Some recipes don't create it.
    queue.case.observer().mkdirs(queue.case.path());
    parties(first).for_each(|party| queue.add(party));
    let holders: Vec<usize> = queue.members().map(|(number, _)| number).collect();
    queue.assert_holders(&holders);
    let nodes = queue.nodes();
    let at_once = if versions == THIS { &["-n", "-E", "0"][..] } else { &["-n"] };
    for options in [&[], at_once, &["-w", "30"]] {
        let output = queue.call(&spec, options, "echo must not run").run();
        assert_eq!(output.assert_code(125).stdout, "");
        let is_named = |node: &String| output.stderr.contains(node.rsplit('/').next().unwrap());
        if versions == THIS {
            output.assert_stderr(says).assert_stderr(queue.case.path());
            assert!(nodes.iter().any(is_named), "{output}");
        }
        assert!(queue.nodes().iter().all(|node| nodes.contains(node)), "{output}");
    }
    queue.assert_holders(&holders);
    queue.finish();
    queue.case.remove_semaphore();
    if next == "zklock" {
        runs_at_once(&queue, &spec);
    }
}
