//! `status` without a reachable server, and without a reader.

use super::{end, holder};
use crate::support::{At, Case, DEADLINE, Proxy, shared};
use nix::sys::signal::Signal;

#[test]
fn each_unreachable_server_is_reported_with_its_error() {
    let case = Case::new("status-unreachable");
    for subcommand in ["status", "revoke"] {
        let servers = ["-z", "127.0.0.1:1,nosuch.invalid:2", "--connect-timeout", "2"];
        let output = case.zklock().args(servers).args([subcommand, "/locks/a"]).run();
        output.assert_code(125).assert_stderr("no ZooKeeper server could be reached within 2s");
        output.assert_stderr("127.0.0.1:1: connection refused").assert_stderr("nosuch.invalid:2: ");
        assert_eq!(output.stdout, "");
    }
}

/// Otherwise an error in the connect string would look like free locks.
#[test]
fn a_lock_below_a_missing_chroot_is_not_shown_as_free() {
    let case = Case::new("status-no-chroot");
    let servers = format!("{}/nope", case.hosts());
    for words in [&["status", "/a"][..], &["status", "--exit-code"], &["revoke", "/a"], &["forget", "/a"]] {
        let output = case.zklock().args(["-z", &servers]).args(words).run();
        output
            .assert_code(125)
            .assert_stderr("the chroot /nope of the connect string doesn't exist: create it");
        assert_eq!(output.stdout, "", "{words:?}");
    }
}

/// As in `status | head`: a reader that has read enough needs no error message.
#[test]
fn a_closed_stdout_ends_status_without_a_message() {
    let case = Case::new("status-pipe");
    let closed_pipe = "exec 3> >(:); wait $!; exec >&3";
    for words in [&["status", "/t/a"][..], &["status", "--json", "/t/a"], &["man"], &["completions", "bash"]]
    {
        let output = case.zklock().args(words).prelude(closed_pipe).run();
        output.assert_signal(Signal::SIGPIPE);
        assert_eq!(output.stderr, "", "{words:?}");
    }
}

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
