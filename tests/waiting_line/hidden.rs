//! Where it would disturb, it is not shown.

use super::{LINE, end, holder, wait_until_watched, waiter};
use crate::support::{Case, SOON};

#[test]
fn quiet_or_on_a_terminal_that_cannot_take_it_back_there_is_none() {
    let case = Case::new("line-none");
    for (options, environment) in
        [(&["-q"][..], "TERM=xterm"), (&[], "TERM=dumb"), (&[], "TERM="), (&["-q", "-w", "60"], "TERM=xterm")]
    {
        let holder = holder(&case, "one");
        let ahead = case.contenders().pop().unwrap();
        let prelude = format!("stty cols 250; export {environment}; [ -n \"$TERM\" ] || unset TERM");
        let mut waiter = case.lock(options, ["echo", "work"]).prelude(&prelude).in_terminal();
        wait_until_watched(&case, &ahead);
        end(holder);
        waiter.expect("work\r\n", SOON);
        assert!(waiter.wait(SOON).success());
        assert_eq!(waiter.text(), "work\r\n", "{options:?} {environment}");
    }
}

/// The same wait where it is shown: else the test above would prove nothing.
#[test]
fn on_any_other_terminal_there_is_one() {
    let case = Case::new("line-some");
    let holder = holder(&case, "one");
    let mut waiter = waiter(&case, &[], &["echo", "work"]);
    waiter.expect(LINE, SOON);
    end(holder);
    waiter.expect("work\r\n", SOON);
    assert!(waiter.wait(SOON).success());
}

#[test]
fn where_stderr_is_no_terminal_there_is_none() {
    let case = Case::new("line-pipe");
    let holder = holder(&case, "one");
    let ahead = case.contenders().pop().unwrap();
    let waiter = case.lock(&[], ["echo", "work"]).env("TERM", "xterm").spawn();
    wait_until_watched(&case, &ahead);
    end(holder);
    let output = waiter.wait(SOON);
    assert_eq!((&*output.assert_code(0).stdout, &*output.stderr), ("work\n", ""));
}

#[test]
fn without_a_wait_there_is_none() {
    let case = Case::new("line-free");
    let mut terminal = super::on_terminal(&case, &[], &["echo", "work"]).in_terminal();
    terminal.expect("work\r\n", SOON);
    assert!(terminal.wait(SOON).success());
    assert_eq!(terminal.text(), "work\r\n");
}
