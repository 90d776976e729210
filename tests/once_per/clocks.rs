//! Hosts with wrong clocks: only the servers' clock counts.

use super::{HOUR, MOMENT, assert_skipped};
use crate::support::{Case, Output, skewed_clock};

const DAY: i64 = 24 * 3600;

/// Runs zklock with a clock that is wrong by `skew` seconds; the command prints that clock's time.
#[track_caller]
fn run_on_host(case: &Case, options: &[&str], skew: i64) -> Output {
    let zklock = case.lock(options, ["date", "+%s"]);
    zklock.env("LD_PRELOAD", skewed_clock(case.dir())).env("SKEW", skew.to_string()).run()
}

#[test]
fn a_wrong_clock_of_a_host_changes_nothing() {
    let case = Case::new("once-clock");
    for skew in [-DAY, DAY] {
        let host_time: i64 = run_on_host(&case, MOMENT, skew).assert_code(0).stdout.trim().parse().unwrap();
        let off = host_time - jiff::Timestamp::now().as_second();
        assert!((off - skew).abs() < 3600, "the clock is off by {off} and not by {skew}");
        for others in [0, -skew, skew] {
            assert_skipped(&run_on_host(&case, HOUR, others), 124);
        }
    }
}
