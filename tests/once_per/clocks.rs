//! Hosts whose clocks are wrong. The servers' clock alone decides.

use super::{HOUR, MOMENT, assert_skipped};
use crate::support::{Case, Output, skewed_clock};

const DAY: i64 = 24 * 3600;

/// Runs on a host whose clock is off by so many seconds, and says what time it is there.
#[track_caller]
fn run_on_host(case: &Case, options: &[&str], skew: i64) -> Output {
    let zklock = case.lock(options, ["date", "+%s"]);
    zklock.env("LD_PRELOAD", skewed_clock(case.dir())).env("SKEW", skew.to_string()).run()
}

#[test]
fn a_host_whose_clock_is_wrong_runs_when_the_others_would() {
    let case = Case::new("once-clock");
    for skew in [-DAY, DAY] {
        let said: i64 = run_on_host(&case, MOMENT, skew).assert_code(0).stdout.trim().parse().unwrap();
        let off = said - jiff::Timestamp::now().as_second();
        assert!((off - skew).abs() < 3600, "the clock is off by {off} and not by {skew}");
        for others in [0, -skew, skew] {
            assert_skipped(&run_on_host(&case, HOUR, others), 124);
        }
    }
}
