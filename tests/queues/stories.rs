//! What happens in a queue, and who holds the lock then.
//!
//! A row has the parties in the order in which they come, and the steps. A step is what happens and, behind the colon, exactly
//! those that hold the lock afterwards; the first step is that all have come. `end 1 2` happens to the first and the second
//! party at once. `come` lets the next party come, which has not come before; `delete 2b` deletes the node on the path `b`;
//! `cut` cuts the connections by the proxy until `pass`; `step` makes a stepping lock of Curator's a reader. The others are
//! the causes of [`Cause`].

use super::{Cause, Queue, THIS, parties};
use crate::support::{Version, curator, try_rows};

type Row = (&'static str, &'static str);

/// Two versions play these, too.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("3 of zklock", "1; kill 2: 1; end 1: 3"),
    ("2 of -s, -x", "1 2; revoke-all 1 2 3: "),
    ("-s, -x, 3 of -s", "1; end 1: 2; end 2: 3 4 5"),
    ("2 of --naming curator-rw -s, --naming curator-rw, --naming curator-rw -s", "1 2; end 1: 2; end 2: 3; end 3: 4"),
    ("2 of --naming kazoo -s, --naming kazoo, --naming kazoo -s", "1 2; end 1: 2; end 2: 3; end 3: 4"),
    ("5 of --slots 2", "1 2; end 2: 1 3; end 1: 3 4; end 4: 3 5"),
    ("2 of --slots 2", "1 2; revoke-all 1 2: "),
    ("4 of --slots 2", "1 2; kill 1: 2 3; end 2: 3 4"),
    ("b, b a, a b", "1; end 1: 2; end 2: 3"),
    ("3 of zklock, wait, zklock", "1; end 3: 1; end 1: 2; end 2: 4 5"),
    ("2 of --slots 2, wait", "1 2; end 2: 1; end 1: 3"),
    ("-s, -s, wait", "1 2; end 2: 1; end 1: 3"),
    ("2 of -s, -x, -s", "1 2; end 1: 2; end 2: 3; end 3: 4"),
];

#[rustfmt::skip]
const MORE: &[Row] = &[
    // A waiter that leaves lets nobody in.
    ("3 of zklock", "1; revoke 2: 1; force 3: 1"),
    ("zklock, zklock -w 8, zklock", "1; give-up 2: 1; end 1: 3"),
    ("zklock --single-child, zklock", "1; revoke 1: 2"),
    ("zklock, zklock", "1; delete 2: 1; delete 1: "),
    // Readers hold together, and a writer holds alone. Each waits only for those that came before it.
    ("3 of -s", "1 2 3"),
    ("3 of -s, -x", "1 2 3; end 1: 2 3; end 2: 3; end 3: 4"),
    ("3 of -s, -x", "1 2 3; end 3: 1 2; end 2: 1; end 1: 4"),
    ("3 of -s, -x", "1 2 3; end 2: 1 3; end 3: 1; end 1: 4"),
    ("3 of -s, -x", "1 2 3; kill 1 2 3: 4"),
    ("3 of -s, -x", "1 2 3; delete 3: 1 2; delete 4: 1 2; revoke 1: 2"),
    ("-s, -x, 2 of -s", "1; end 2: 1 3 4"),
    ("-x, -s, -x", "1; end 1: 2; end 2: 3"),
    ("-x, -s, -s", "1; delete 3: 1; end 1: 2"),
    // A reader that counted later writers would wait for a writer that waits for it.
    ("-x, 2 of -s, 2 of -x", "1; end 1: 2 3; end 3: 2; end 2: 4; end 4: 5"),
    // As many hold as there are slots, and none stays free while a contender waits.
    ("--slots 1, zklock, --slots 1", "1; end 1: 2; end 2: 3"),
    ("7 of --slots 3", "1 2 3; end 1: 2 3 4; end 2: 3 4 5; end 3: 4 5 6; end 4: 5 6 7"),
    ("6 of --slots 2", "1 2; end 5: 1 2; end 3: 1 2; end 1 2: 4 6"),
    ("4 of --slots 2", "1 2; end 1: 2 3; end 2: 3 4"),
    ("4 of --slots 2", "1 2; end 2: 1 3; end 1: 3 4"),
    ("9 of --slots 3", "1 2 3; end 1: 2 3 4; end 4: 2 3 5; end 2: 3 5 6; end 6: 3 5 7; end 3: 5 7 8; end 8: 5 7 9"),
    ("4 of --slots 2", "1 2; delete 3: 1 2; delete 1: 2 4; revoke 4: 2; revoke 2: "),
    // Slots that are free at once, before whoever takes the first has told the contender behind it.
    ("5 of --slots 2", "1 2; end 1 2: 3 4; end 3 4: 5"),
    ("7 of --slots 3", "1 2 3; end 1 2 3: 4 5 6; end 4 5 6: 7"),
    ("9 of --slots 4", "1 2 3 4; end 1 2 3 4: 5 6 7 8; end 5 6 7 8: 9"),
    ("4 of --slots 2", "1 2; kill 2: 1 3; end 1: 3 4"),
    ("5 of --slots 2", "1 2; kill 3: 1 2; end 2: 1 4; end 1: 4 5"),
    ("5 of --slots 2", "1 2; kill 1 3: 2 4; end 2: 4 5"),
    ("5 of --slots 2", "1 2; kill 2 3: 1 4; end 1: 4 5"),
    ("4 of --slots 2", "1 2; kill 1 2: 3 4"),
    // Several paths, in sorted order. All nodes of a party go with it.
    ("-s a b, -s c b a, b", "1 2; end 1 2: 3"),
    ("--slots 2 a b, --slots 2 b, --slots 2 b a, --slots 2 a", "1 2; end 2: 1 3; end 1: 3 4"),
    ("a b c, c b a, b c a, c a b", "1; end 1: 2; end 2: 3; end 3: 4"),
    ("b a, b", "1; end 1: 2"),
    ("a b c, a, b, c", "1; kill 1: 2 3 4"),
    ("b, a b, a", "1; kill 2: 1 3"),
    ("b, a b, a", "1; end 2: 1 3"),
    ("c, a b c", "1; delete 2a: 1"),
    ("c, a b c", "1; delete 2b: 1"),
    ("c, a b c", "1; delete 2c: 1; delete 1: "),
    ("a b c, a, b, c", "1; delete 1a: 2 3 4"),
    ("a b c, a, b, c", "1; delete 1b: 2 3 4"),
    ("a b c, a, b, c", "1; delete 1c: 2 3 4"),
    // `zklock wait` waits for those that are there, and not for those that come later. Nobody waits for it.
    ("-s a, -s a, b, wait a z b a, b", "1 2 3; end 1: 2 3; end 3: 2 5; end 2: 4 5"),
    // A waiter without a connection misses nothing.
    ("2 of --slots 2, ~ --slots 2", "1 2; cut: 1 2; end 2: 1; pass: 1 3"),
    ("3 of --slots 2, ~ --slots 2", "1 2; cut: 1 2; end 1: 2 3; end 2: 3; pass: 3 4"),
    ("zklock, ~ -s, ~ -s, ~ -x, -s", "1; cut: 1; end 1: ; pass: 2 3; end 3: 2; end 2: 4; end 4: 5"),
    // A reader whose command ends meanwhile releases the lock when it is back.
    ("~ -s, ~ -s, ~ -x, -s", "1 2; end-cut-off 2: 1; end 1: 3; end 3: 4"),
    // A holder that is cut off is stopped before its session ends and the next one runs.
    ("~ --session-timeout 10, zklock", "1; lose 1: 2"),
    ("~ --session-timeout 10 -s, -x", "1; lose 1: 2"),
    ("~ --session-timeout 10 --slots 2, 2 of --slots 2", "1 2; lose 1: 2 3"),
    ("~ --session-timeout 10 a b c, c", "1; lose 1: 2"),
];

#[rustfmt::skip]
const NEIGHBOURS: &[Row] = &[
    // kazoo's plain lock ignores readers, also kazoo's own. Whoever comes later waits for it.
    ("--naming kazoo -s, kazoo lock, --naming kazoo -s", "1 2; end 2: 1 3"),
    ("kazoo read, kazoo lock, --naming kazoo", "1 2; end 2: 1; end 1: 3"),
    // Curator's mark revokes. A lock that can be revoked obeys it, too.
    ("curator revocable, zklock", "1; revoke 1: 2"),
    ("zklock, zklock", "1; curator-revokes 2: 1; curator-revokes 1: "),
    ("--naming curator-rw, --naming curator-rw -s", "1; curator-revokes 2: 1; curator-revokes 1: "),
    // A writer of Curator's that has become a reader excludes later writers.
    ("curator stepping, --naming curator-rw", "1; step 1: 1; come: 1; end 1: 2"),
    ("curator stepping, 2 of --naming curator-rw -s", "1; step 1: 1 2 3"),
];

/// Since 5.5 the reader has the writer's number, so that it excludes a waiting writer, too.
#[rustfmt::skip]
const SINCE_CURATOR_5_5: &[Row] = &[
    ("curator stepping, --naming curator-rw", "1; step 1: 1; end 1: 2"),
    ("curator stepping, curator write", "1; step 1: 1; end 1: 2"),
    ("curator stepping, wait", "1; step 1: 1; end 1: 2"),
];

/// Before, its number is behind the waiting writer, which nobody can see later.
#[rustfmt::skip]
const BEFORE_CURATOR_5_5: &[Row] = &[
    ("curator stepping, --naming curator-rw", "1; step 1: 1 2; end 2: 1"),
    ("curator stepping, curator write", "1; step 1: 1 2; end 2: 1"),
];

#[test]
fn zklocks_run_in_turn() {
    try_rows(ROWS.iter().chain(MORE), |(parties, story)| play(THIS, parties, story));
}

#[test]
fn zklocks_and_neighbours_run_in_turn() {
    let stepping = if curator().version() >= [5, 5] { SINCE_CURATOR_5_5 } else { BEFORE_CURATOR_5_5 };
    try_rows(NEIGHBOURS.iter().chain(stepping), |(parties, story)| play(THIS, parties, story));
}

/// Plays stories of zklocks with these versions.
#[track_caller]
pub(crate) fn try_stories(versions: [Version; 2]) {
    try_rows(ROWS.iter(), |(parties, story)| play(versions, parties, story));
}

/// Plays one story.
fn play(versions: [Version; 2], text: &str, story: &str) {
    let mut queue = Queue::new(versions);
    let mut coming = parties(text);
    let first = parties(text).count() - story.matches("come").count();
    coming.by_ref().take(first).for_each(|party| queue.add(party));
    take_steps(&mut queue, coming, story);
    queue.finish();
}

/// Takes these steps. Those in `coming` have not come yet.
pub(super) fn take_steps<'a>(queue: &mut Queue, mut coming: impl Iterator<Item = &'a str>, steps: &str) {
    for step in steps.split("; ") {
        let (happens, holders) = step.split_once(':').unwrap_or(("", step));
        let mut words = happens.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let numbers: Vec<usize> = words.map(|word| number(queue, word)).collect();
        match verb {
            "" => {}
            "come" => queue.add(coming.next().unwrap()),
            "cut" => queue.cut_off(),
            "pass" => queue.pass(),
            "step" => queue.member(numbers[0]).party.step_down(),
            _ => queue.leave(cause(verb), &numbers),
        }
        let holders: Vec<usize> = holders.split_whitespace().map(|number| number.parse().unwrap()).collect();
        queue.assert_holders(&holders);
    }
}

/// The number of a party. A letter behind it chooses its path.
fn number(queue: &mut Queue, word: &str) -> usize {
    let digits = word.trim_end_matches(char::is_alphabetic);
    let number = digits.parse().expect("a number");
    if digits.len() < word.len() {
        queue.choose(number, &word[digits.len()..]);
    }
    number
}

fn cause(verb: &str) -> Cause {
    match verb {
        "end" => Cause::End,
        "end-cut-off" => Cause::EndCutOff,
        "kill" => Cause::Kill,
        "delete" => Cause::Delete,
        "revoke" => Cause::Revoke,
        "revoke-all" => Cause::RevokeAll,
        "force" => Cause::Force,
        "curator-revokes" => Cause::CuratorRevokes,
        "give-up" => Cause::GiveUp,
        "lose" => Cause::Lose,
        _ => panic!("no cause: {verb}"),
    }
}
