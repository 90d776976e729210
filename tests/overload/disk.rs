//! A server that can't write its log any more.

use crate::support::{Case, DEADLINE, Server, holder};
use std::process::Command;

/// From here on the server can write nothing, as if its disk were full.
fn fill_disk_of(server: &Server) {
    let pid = server.pid().expect("a running server").to_string();
    let status = Command::new("prlimit").args(["--pid", &pid, "--fsize=1:1"]).status();
    assert!(status.is_ok_and(|status| status.success()), "prlimit of util-linux");
}

#[test]
fn with_a_full_disk_a_holder_is_stopped_and_no_command_runs_until_there_is_room() {
    let server = Server::start();
    let case = Case::on(&server, "disk");
    let options = ["-v", "--session-timeout", "4"];
    let holder = holder(&case, &options);
    let waiter = case.lock(&options, ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    fill_disk_of(&server);

    let output = holder.wait(DEADLINE);
    output.assert_code(123).assert_stderr("the lock was lost");
    assert!(!output.stderr.contains("released"), "nobody said so: {output}");
    let late = case.lock(&["-w", "1", "-E", "0"], ["echo", "ran"]).run();
    late.assert_code(125).assert_stderr("no ZooKeeper server could be reached");
    assert_eq!(late.stdout, "", "and not that it is busy");
    assert_eq!(waiter.stdout().text(), "");

    // It is limited no more, and has all that it had confirmed.
    server.restart();
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}
