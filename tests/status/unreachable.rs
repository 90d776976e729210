//! `status` without a reader, and without an answer.

use super::{end, holder};
use crate::support::{At, Case, DEADLINE, Proxy, shared};
use nix::sys::signal::Signal;

#[test]
fn a_closed_stdout_ends_a_watch_at_the_next_change() {
    let case = Case::new("status-pipe-watch");
    let words = ["status", "--watch", "--json", case.path()];
    let watch = case.zklock().args(words).prelude("exec > >(exec head -n 1)").spawn();
    watch.wait_for_stdout("\"contenders\":[]", DEADLINE);
    let holder = holder(&case, &[]);
    let output = watch.wait(DEADLINE);
    end(holder);
    output.assert_signal(Signal::SIGPIPE);
    assert_eq!(output.stderr, "");
}

/// Every request ends the connection, so no answer can come, however often zklock repeats it.
#[test]
fn status_gives_up_on_a_server_that_closes_every_connection() {
    const ANYTHING: &[i32] = &[3, 4, 8, 12];
    let proxy = Proxy::to(shared());
    let case = Case::new("hangs-up").through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    (0..1000).for_each(|_| proxy.once(ANYTHING, At::BeforeServer));
    for subcommand in ["status", "revoke"] {
        let output = case.zklock().args([subcommand, "--connect-timeout", "4", case.path()]).run();
        output.assert_code(125).assert_stderr("no answer within 4");
    }
    assert!(proxy.count(ANYTHING) > 2, "the request is repeated");
}
