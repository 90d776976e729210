//! The kinds of locks: exclusive, shared, a number of slots, and several paths at once.

mod busy;
mod crashes;
mod lost;
mod readers;
mod reconnected;
mod several;
mod slots;
mod slots_crashes;
mod slots_handed_off;

use crate::support::{Case, DEADLINE, Running, end};
use nix::sys::signal::Signal;

/// A kind: the options of its contenders, and those of contenders that block them.
struct Kind {
    options: &'static [&'static str],
    /// The locks besides the case's own, as endings of its path.
    besides: &'static [&'static str],
    in_the_way: &'static [&'static str],
    /// How many blocking contenders leave no room.
    fill: usize,
}

const EXCLUSIVE: Kind = Kind { options: &[], besides: &[], in_the_way: &[], fill: 1 };
const WRITER: Kind = Kind { options: &["-x"], besides: &[], in_the_way: &["-s"], fill: 2 };
const READER: Kind = Kind { options: &["-s"], besides: &[], in_the_way: &[], fill: 1 };
const SLOTS: Kind = Kind { options: &["--slots", "2"], besides: &[], in_the_way: &["--slots", "2"], fill: 2 };
const SEVERAL: Kind = Kind { options: &[], besides: &["-b", "-c"], in_the_way: &[], fill: 1 };
const KINDS: [Kind; 5] = [EXCLUSIVE, WRITER, READER, SLOTS, SEVERAL];

const HOLD: &str = "echo running $$; exec sleep 60";

impl Kind {
    /// A contender of this kind, with more options and a shell string to run.
    fn run(&self, case: &Case, options: &[&str], string: &str) -> Running {
        let paths = self.paths(case);
        case.zklock().args(options).args(self.options).args(paths).args(["--", "sh", "-c", string]).spawn()
    }

    /// The paths of its locks.
    fn paths(&self, case: &Case) -> Vec<String> {
        let besides = self.besides.iter().map(|ending| format!("{}{ending}", case.path()));
        std::iter::once(case.path().to_owned()).chain(besides).collect()
    }

    /// Starts a holder, and returns when its command runs.
    fn holder(&self, case: &Case, options: &[&str]) -> Running {
        let running = self.run(case, options, HOLD);
        wait_until_it_runs(&running);
        running
    }

    /// Starts contenders that leave no room for it on its last path, which it reaches at the end.
    fn fill(&self, case: &Case) -> Vec<Running> {
        let path = self.paths(case).pop().unwrap();
        let fill = |_| {
            let words = [self.in_the_way, &[&path, "--", "sh", "-c", HOLD]].concat();
            let running = case.zklock().args(words).spawn();
            wait_until_it_runs(&running);
            running
        };
        (0..self.fill).map(fill).collect()
    }
}

/// A contender for the case's own path.
fn contender(case: &Case, options: &[&str]) -> Running {
    let options = [&["-v"], options].concat();
    case.lock(&options, ["sh", "-c", HOLD]).spawn()
}

/// Starts a contender, and returns when it has this position in the queue, counted from 1.
fn queued(case: &Case, options: &[&str], place: usize) -> Running {
    let contender = contender(case, options);
    case.wait_for_contenders(place);
    contender
}

fn runs(running: &Running) -> bool {
    running.stdout().count("running") > 0
}

#[track_caller]
fn wait_until_it_runs(running: &Running) {
    running.wait_for_stdout("running", DEADLINE);
}

#[track_caller]
fn wait_until_it_waits(running: &Running) {
    running.wait_for_line(": position ", DEADLINE);
}

/// Kills zklock itself, and waits until it is dead.
#[track_caller]
fn kill(running: Running) {
    running.signal(Signal::SIGKILL);
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}
