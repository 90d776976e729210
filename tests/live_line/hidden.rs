//! Cases without a live line.

use super::{end, wait_until_watched};
use crate::support::{Case, DEADLINE};

#[test]
fn no_live_line_with_quiet_or_on_a_dumb_terminal() {
    let case = Case::new("line-none");
    let mut free = super::on_terminal(&case, &[], &["echo", "work"]).in_terminal();
    free.expect("work\r\n", DEADLINE);
    assert!(free.wait(DEADLINE).success());
    assert_eq!(free.text(), "work\r\n", "without a wait");
    for (options, environment) in
        [(&["-q"][..], "TERM=xterm"), (&[], "TERM=dumb"), (&[], "TERM="), (&["-q", "-w", "60"], "TERM=xterm")]
    {
        let holder = case.direct_holder(&["--label", "one"]);
        let ahead = case.contenders().pop().unwrap();
        let prelude = format!("stty cols 250; export {environment}; [ -n \"$TERM\" ] || unset TERM");
        let mut waiter = case.lock(options, ["echo", "work"]).prelude(&prelude).in_terminal();
        wait_until_watched(&case, &ahead);
        end(holder);
        waiter.expect("work\r\n", DEADLINE);
        assert!(waiter.wait(DEADLINE).success());
        assert_eq!(waiter.text(), "work\r\n", "{options:?} {environment}");
    }
}

#[test]
fn no_live_line_without_a_terminal() {
    let case = Case::new("line-pipe");
    let holder = case.direct_holder(&["--label", "one"]);
    let ahead = case.contenders().pop().unwrap();
    let waiter = case.lock(&[], ["echo", "work"]).env("TERM", "xterm").spawn();
    wait_until_watched(&case, &ahead);
    end(holder);
    let output = waiter.wait(DEADLINE);
    assert_eq!((&*output.assert_code(0).stdout, &*output.stderr), ("work\n", ""));
}
