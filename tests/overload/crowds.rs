//! Thousands of children at the lock path.

use super::crowd::{Crowd, crowded, prefixes};
use super::memory::Memory;
use crate::support::{Case, DEADLINE};

/// A queue as long as nobody has it.
const MANY: usize = 5000;

fn crowded_case(name: &str) -> (Case, Crowd) {
    let case = Case::on(crowded(), name);
    case.observer().mkdirs(case.path());
    (case, Crowd::of(crowded()))
}

/// Java's clients refuse the longer list (`jute.maxbuffer`) and connect again and again.
#[test]
fn thousands_of_children_that_are_no_contenders_and_long_names_are_ignored() {
    for (count, length) in [(MANY, 1), (150, 10_000)] {
        let (case, mut crowd) = crowded_case("litter");
        let name = "x".repeat(length);
        let litter: Vec<_> =
            (0..count).map(|number| format!("{}/{name}-{number:010}", case.path())).collect();
        crowd.litter(&litter);
        for options in [&[][..], &["-n"]] {
            let running = case.lock(options, ["echo", "ran"]).spawn();
            let memory = Memory::watch(running.pid());
            let output = running.wait(DEADLINE);
            assert_eq!(output.assert_code(0).stdout, "ran\n");
            assert!(memory.peak_kib() < 200 << 10);
        }
        crowd.leave();
    }
}

#[test]
fn behind_thousands_of_contenders_it_waits_for_the_nearest_and_runs_after_them() {
    let (case, mut crowd) = crowded_case("queue");
    let contenders = crowd.contend(&prefixes(case.path(), MANY), b"");
    let busy = case.lock(&["-n"], ["echo", "ran"]).run();
    let first = contenders[0].rsplit('/').next().unwrap();
    busy.assert_code(124).assert_stderr("busy: held by").assert_stderr(first);

    let running = case.lock(&["-v"], ["echo", "ran"]).spawn();
    let memory = Memory::watch(running.pid());
    let nearest = |number: usize| contenders[number].rsplit('/').next().unwrap();
    let line = running.wait_for_line("position 5001", DEADLINE);
    assert!(line.contains(nearest(MANY - 1)), "{line}");
    crowd.delete(&contenders[MANY - 1]);
    let line = running.wait_for_line("position 5000", DEADLINE);
    assert!(line.contains(nearest(MANY - 2)), "{line}");
    // One that is not the nearest is nothing to it.
    crowd.delete(&contenders[0]);
    assert_eq!(running.stdout().text(), "");
    crowd.leave();
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    assert_eq!(output.stderr.matches(": position ").count(), 2, "{output}");
    assert!(memory.peak_kib() < 200 << 10);
}
