//! zklock inside the command of a zklock: it runs its command at once if the surrounding zklock holds its locks, is refused a
//! stronger kind of lock, and queues for all others.
//!
//! A row is a line of commands, each the command of the one before, and what becomes of the last. To add one, write it
//! below: [`Stage::word`] says what its words stand for.

use super::{PROGRAM, go, shell, start, until_go};
use crate::support::{
    Case, DEADLINE, Observer, Running, Server, WORKER, Zklock, end, processes_of, try_rows,
};
use serde_json::Value;
use std::path::Path;

/// What becomes of the last command, which prints its variables and exits with 7.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// It runs, and is told of these locks, and there are these nodes: a word for each zklock that is there.
    Runs(&'static str, &'static [&'static str]),
    /// It doesn't run, because the surrounding command holds this kind of lock, and it asks for that one.
    Refused(&'static str, &'static str),
    /// It doesn't run, and zklock exits with this code and says this.
    Ends(i32, &'static str),
    /// Another zklock holds this lock, and so it doesn't run.
    Busy(&'static str),
    /// Another zklock holds this lock, and it runs after that.
    Waits(&'static str),
}

use Then::{Busy, Ends, Refused, Runs, Waits};

const EXCLUSIVE: &str = "an exclusive lock";
const SHARED: &str = "a shared lock";

#[rustfmt::skip]
const ROWS: &[(&str, Then)] = &[
    // The same lock, at any depth and through shells.
    ("Z A -- Z A --", Runs("A", &["A"])),
    ("Z A -- SH Z A -- Z -n A -- Z -w 5 A -- SH Z A --", Runs("A", &["A"])),
    ("Z A -- Z A -- no-such-command", Ends(127, "'no-such-command' was not found: check its name")),
    // A kind of lock that the surrounding one suffices for.
    ("Z A -- Z -s A --", Runs("A", &["A"])),
    ("Z A -- Z --slots 1 A --", Runs("A", &["A"])),
    ("Z -s A -- Z -s A --", Runs("A", &["A"])),
    ("Z --slots 2 A -- Z --slots 2 A --", Runs("A", &["A"])),
    ("Z --slots 1 A -- Z A --", Runs("A", &["A"])),
    ("Z --slots 1 A -- Z --slots 1 A --", Runs("A", &["A"])),
    ("Z --naming kazoo A -- Z --naming kazoo -s A --", Runs("A", &["A"])),
    ("Z --once-per 1h A -- Z A --", Runs("A", &["A"])),
    // Any other would wait for itself.
    ("Z -s A -- Z A --", Refused(SHARED, EXCLUSIVE)),
    ("Z -s A -- Z -n -E 0 A --", Refused(SHARED, EXCLUSIVE)),
    ("Z -s A -- Z -w 30 A --", Refused(SHARED, EXCLUSIVE)),
    ("Z -s A -- Z --slots 2 A --", Refused(SHARED, "one of 2 slots")),
    ("Z --slots 2 A -- Z A --", Refused("one of 2 slots", EXCLUSIVE)),
    ("Z --slots 2 A -- Z --slots 1 A --", Refused("one of 2 slots", "the only slot")),
    ("Z --slots 2 A -- Z -s A --", Refused("one of 2 slots", SHARED)),
    ("Z --slots 2 A -- Z --slots 3 A --", Refused("one of 2 slots", "one of 3 slots")),
    ("Z A -- Z --slots 2 A --", Refused(EXCLUSIVE, "one of 2 slots")),
    ("Z -s A -- Z B A --", Refused(SHARED, EXCLUSIVE)),
    ("Z A -- Z --naming kazoo A --", Ends(125, "the surrounding command holds it in the naming of curator")),
    ("Z A -- Z --once-per 1h A --", Ends(125, "already held by the surrounding command: put --once-per there")),
    // Another lock, and several.
    ("Z A -- Z B --", Runs("B", &["A", "B"])),
    ("Z A -- Z --once-per 1h B --", Runs("B", &["A", "B"])),
    ("Z A -- Z -n B --", Busy("B")),
    ("Z A -- Z -v B --", Waits("B")),
    ("Z A -- Z B -- Z -n A --", Runs("A", &["A", "B"])),
    ("Z A -- Z B A --", Runs("B A", &["A", "B"])),
    ("Z A B -- Z -n B A --", Runs("B A", &["A B"])),
    // The same path on another ensemble, and through chroots.
    ("Z A -- X A --", Runs("A", &["A", "X:A"])),
    ("Z A -- X -n A --", Busy("X:A")),
    ("Z A -- X A -- Z -w 10 A --", Runs("A", &["A", "X:A"])),
    ("ZC /job -- Z -n C/job --", Runs("C/job", &["C/job"])),
    ("Z C/job -- ZC -n /job --", Runs("/job", &["C/job"])),
    ("ZC /job -- ZC -n /job --", Runs("/job", &["C/job"])),
    ("ZC /job -- ZD /job --", Runs("/job", &["C/job", "D/job"])),
    // The variable of a command that has ended, of one that isn't around, and of a lock with another identity.
    ("ENDED Z A --", Runs("A", &["A"])),
    ("ENDED Z -n A --", Busy("A")),
    ("ENDED Z -v A --", Waits("A")),
    ("ENDED Z A -- Z -n A -- Z -n A --", Runs("A", &["A"])),
    ("BESIDE Z -n A --", Busy("A")),
    ("Z A -- FORGED:fencing_token Z -n A --", Ends(124, "busy: ")),
    ("Z A -- FORGED:session Z -n A --", Ends(124, "busy: ")),
    ("env ZKLOCK_HELD= Z A --", Runs("A", &["A"])),
    ("env ZKLOCK_HELD=garbage Z A --", Runs("A", &["A"])),
    ("env ZKLOCK_HELD={} Z A --", Runs("A", &["A"])),
    ("env ZKLOCK_HELD=[1] Z A --", Runs("A", &["A"])),
    ("env ZKLOCK_HELD=[{\"path\":\"/x\"}] Z A --", Runs("A", &["A"])),
];

/// Where nodes may be; `X:` is the other ensemble, and the last is beside the chroots.
const LOCKS: [&str; 6] = ["A", "B", "C/job", "D/job", "X:A", "/job"];

struct Stage<'a> {
    case: Case,
    other: &'a Server,
    /// A client of the other ensemble.
    there: &'a Observer,
    /// `ZKLOCK_HELD` of a command that has ended, or that is beside the line.
    held: String,
}

impl Stage<'_> {
    /// What a word of a line stands for.
    fn word(&self, word: &str) -> Vec<String> {
        let words: &[&str] = match word {
            "Z" => &[PROGRAM, "-z", self.case.hosts()],
            "X" => &[PROGRAM, "-z", &self.other.connect_string()],
            // Below a chroot.
            "ZC" | "ZD" => &[PROGRAM, "-z", &format!("{}{}", self.case.hosts(), self.path(&word[1..]))],
            "SH" => &["bash", "-c", "\"$@\"; exit $?", "bash"],
            "ENDED" | "BESIDE" => &["env", &format!("ZKLOCK_HELD={}", self.held)],
            _ => match word.strip_prefix("FORGED:") {
                Some(field) => {
                    let forged =
                        format!("$(echo \"$ZKLOCK_HELD\" | sed 's/\"{field}\":[0-9]*/\"{field}\":1/')");
                    &["sh", "-c", &format!("ZKLOCK_HELD={forged} exec \"$@\""), "sh"]
                }
                None => &[&self.path(word)],
            },
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// The path of a lock; other words stay as they are.
    fn path(&self, word: &str) -> String {
        let path = self.case.path();
        match word.trim_start_matches("X:") {
            "A" => path.to_owned(),
            "B" | "C" | "D" | "C/job" | "D/job" => format!("{path}-{word}"),
            _ => word.to_owned(),
        }
    }

    fn line(&self, line: &str) -> Zklock {
        let last = format!("env; echo inside; {}; exit 7", until_go(&self.case));
        let words = line.split(' ').flat_map(|word| self.word(word)).chain(shell(&last));
        Zklock::bare(self.case.marker()).program(Path::new("env")).args(words)
    }

    /// A zklock beside the line that holds this lock, and its command's `ZKLOCK_HELD`.
    fn hold(&self, lock: &str) -> (Running, String) {
        let zklock = self.word(if lock.starts_with("X:") { "X" } else { "Z" });
        let words = [zklock, vec![self.path(lock)], shell("echo \"$ZKLOCK_HELD\"; exec sleep 60")].concat();
        let holder = Zklock::bare(self.case.marker()).args(&words[1..]).spawn();
        let held = holder.wait_for_stdout("[{", DEADLINE);
        (holder, held)
    }

    /// The nodes of a lock, each with its fencing token.
    fn nodes(&self, lock: &str) -> Vec<(String, i64)> {
        let observer = if lock.starts_with("X:") { self.there } else { self.case.observer() };
        let path = self.path(lock);
        let nodes = observer.children(&path).into_iter().map(|name| format!("{path}/{name}"));
        nodes.filter_map(|node| Some((node.clone(), observer.stat(&node)?.czxid))).collect()
    }

    /// That the command is told of these locks, and that each of these zklocks is there with a node for each of its locks,
    /// and no other zklock and no other node.
    fn assert_runs(&self, printed: &str, locks: &str, zklocks: &[&str]) {
        let there: Vec<&str> = zklocks.iter().flat_map(|locks| locks.split(' ')).collect();
        for lock in LOCKS {
            assert_eq!(self.nodes(lock).len(), usize::from(there.contains(&lock)), "{lock}");
        }
        let processes = processes_of(self.case.marker());
        let named = |name: &str| processes.iter().filter(|(_, line)| line.starts_with(name)).count();
        assert_eq!([PROGRAM, WORKER].map(named), [zklocks.len(); 2], "{processes:#?}");
        let told: Value = serde_json::from_str(value(printed, "ZKLOCK_LOCKS")).unwrap();
        let told = told.as_array().unwrap();
        let text = |lock: &Value, field: &str| lock[field].as_str().unwrap().to_owned();
        let paths: Vec<_> = told.iter().map(|lock| text(lock, "path")).collect();
        assert_eq!(paths, locks.split(' ').map(|lock| self.path(lock)).collect::<Vec<_>>());
        let nodes: Vec<_> = there.iter().flat_map(|lock| self.nodes(lock)).collect();
        for lock in told {
            let node = text(lock, "node");
            assert!(node.starts_with(&format!("{}/", text(lock, "path"))), "{lock}");
            // Through a chroot only its end is seen.
            let (_, token) = nodes.iter().find(|(full, _)| full.ends_with(&node)).expect(&node);
            assert_eq!(lock["fencing_token"], *token);
        }
        let first = [text(&told[0], "path"), text(&told[0], "node"), told[0]["fencing_token"].to_string()];
        assert_eq!(
            ["ZKLOCK_PATH", "ZKLOCK_NODE", "ZKLOCK_FENCING_TOKEN"].map(|name| value(printed, name)),
            first
        );
    }

    /// That it ends without a run of the command and without any other node.
    fn assert_ends(&self, line: &str, code: i32, says: &str) {
        let output = self.line(line).run();
        output.assert_code(code).assert_stderr(says);
        assert_eq!(output.stdout, "");
    }
}

fn try_row(other: &Server, there: &Observer, (line, then): (&str, Then)) {
    let mut stage = Stage { case: Case::new("nesting"), other, there, held: String::new() };
    if line.starts_with("ENDED") {
        let ended = stage.case.lock(&[], ["env"]).run();
        value(&ended.stdout, "ZKLOCK_HELD").clone_into(&mut stage.held);
    }
    for chroot in ["C", "D"].into_iter().filter(|chroot| line.contains(chroot)) {
        stage.case.observer().mkdirs(&stage.path(chroot));
    }
    match then {
        Runs(locks, zklocks) => {
            let running = start(stage.line(line));
            stage.assert_runs(&running.stdout().text(), locks, zklocks);
            go(&stage.case);
            running.wait(DEADLINE).assert_code(7);
        }
        Refused(outer, asked) => {
            let why = format!("the surrounding command holds {outer}, and this asks for {asked}");
            let what = format!("so it would wait for itself forever: ask for {asked} outside too");
            stage.assert_ends(line, 125, &format!("zklock: {}: {why}, {what}", stage.case.path()));
            assert!(!stage.case.observer().exists(&stage.path("B")), "no other is acquired before");
        }
        Ends(code, says) => stage.assert_ends(line, code, &format!("zklock: {}: {says}", stage.case.path())),
        Busy(lock) | Waits(lock) => {
            let (holder, beside) = stage.hold(lock);
            if line.starts_with("BESIDE") {
                stage.held = beside;
            }
            if matches!(then, Busy(_)) {
                stage.assert_ends(line, 124, "busy: held by ");
                return end(holder);
            }
            let waiter = stage.line(line).spawn();
            waiter.wait_for_line(": position 2", DEADLINE);
            assert_eq!((stage.nodes(lock).len(), waiter.stdout().text().as_str()), (2, ""));
            end(holder);
            go(&stage.case);
            waiter.wait(DEADLINE).assert_code(7).assert_stdout("inside");
        }
    }
    for lock in LOCKS {
        assert_eq!(stage.nodes(lock), [], "{lock}");
    }
}

#[test]
fn each_line_ends_as_its_row_says() {
    let other = Server::start();
    let there = Observer::new(&other.connect_string());
    try_rows(ROWS.iter().copied(), |row| try_row(&other, &there, row));
}

/// The value of a variable in the output of `env`.
fn value<'a>(printed: &'a str, name: &str) -> &'a str {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {name} in:\n{printed}"))
}
