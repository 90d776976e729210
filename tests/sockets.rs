//! systemd's sockets: the command takes them with the line of the page.

use crate::support::{Case, DEADLINE, MARKER, skip, try_for};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

fn socket(case: &Case) -> PathBuf {
    case.dir().join("socket")
}

/// Connects to the socket.
#[track_caller]
fn request(case: &Case) -> UnixStream {
    let connect = || UnixStream::connect(socket(case)).ok();
    try_for(DEADLINE, connect).expect("a connection")
}

/// The whole answer; nothing if there is none.
fn answer(mut stream: UnixStream) -> String {
    stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
    let mut text = String::new();
    stream.read_to_string(&mut text).ok();
    text
}

/// zklock's prelude: it runs under `systemd-socket-activate`, which listens on the case's socket. `None`, with a skip, if
/// the program isn't there.
fn activated(case: &Case) -> Option<String> {
    if !Command::new("systemd-socket-activate").arg("--version").output().is_ok_and(|it| it.status.success())
    {
        skip("systemd-socket-activate is not installed");
        return None;
    }
    Some(format!(
        "exec systemd-socket-activate --listen={} --fdname=web --setenv={MARKER} -- \"$0\" \"$@\"",
        socket(case).display()
    ))
}

/// A command behind the line of docs/systemd.md, which puts its pid in place of zklock's.
fn in_place_of_zklock(words: Vec<&str>) -> Vec<&str> {
    let line = "unset LISTEN_PIDFDID; LISTEN_PID=$$ exec \"$@\"";
    [vec!["sh", "-c", line, "sh"], words].concat()
}

/// libsystemd itself finds the socket, and no other process of the command does. A connection waits in its queue until the
/// command takes it.
#[test]
fn a_program_with_sd_listen_fds_finds_its_socket_when_zklock_has_waited() {
    let case = Case::new("sd-listen-fds");
    let Some(prelude) = activated(&case) else { return };
    let script = r#"
import ctypes, os, socket
library = ctypes.CDLL("libsystemd.so.0")
found = library.sd_listen_fds(0)
if os.fork() == 0:
    print("child", library.sd_listen_fds(0), flush=True)
    os._exit(0)
os.wait()
print("found", found, os.environ["LISTEN_FDNAMES"], flush=True)
connection, _ = socket.socket(fileno=3).accept()
connection.sendall(b"served")
"#;
    let words = in_place_of_zklock(vec!["python3", "-c", script]);
    let holder = case.holder();
    let running = case.lock(&[], words).prelude(&prelude).spawn();
    let request = request(&case);
    case.wait_for_contenders(2);
    crate::support::end(holder);
    assert!(answer(request).ends_with("served"));
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "child 0\nfound 1 web\n", "{output}");
}

/// As 1.1's users wrote it, when zklock changed the variables.
#[test]
fn a_command_that_systemd_does_not_mean_is_warned_of() {
    let case = Case::new("listen-pid");
    for name in ["LISTEN_PID", "WATCHDOG_PID"] {
        let prelude = format!("export {name}=$$; exec \"$0\" \"$@\"");
        let output = case.lock(&[], ["true"]).prelude(&prelude).run();
        output.assert_code(0).assert_stderr(&format!("{name} names zklock, not the command"));
        let line = format!("{name}=$$ exec true");
        let output = case.lock(&[], ["sh", "-c", &line]).prelude(&prelude).run();
        assert_eq!(output.assert_code(0).stderr, "");
    }
}
