//! Servers that can't be used, in every call: zklock says what each of them said, in time, and runs nothing.
//!
//! A row is a connect string, a call, and what zklock says. Its code is 125. To add one, write it
//! below; [`Servers`] says what the names stand for.

use crate::support::{
    Case, DEADLINE, Ensemble, LATE, Proxy, Server, ServerBuilder, Zklock, free_port, new_marker, shared,
    try_rows, wait_until,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// The servers, zklock's words, for how long it tries them, and what it says; behind a server's name, what it says of that one.
/// The words end with the path, and a call that takes a lock has a command too.
type Row = (&'static str, &'static str, Duration, &'static [&'static str]);

const AT_ONCE: Duration = Duration::ZERO;
const FIVE: Duration = Duration::from_secs(5);
const FOUR: Duration = Duration::from_secs(4);
const TWO: Duration = Duration::from_secs(2);
const BRIEFLY: Duration = Duration::from_millis(300);
const NO_CHROOT: &[&str] = &[
    "the chroot /missing of the connect string doesn't exist: create it once with 'zklock check --create-chroot'",
];
const CONNECTING: &[&str] = &["zklock: connecting for ", " s left; ", REFUSED];
const REFUSED: &str = "REFUSES: connection refused";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("REFUSES,UNKNOWN,SILENT", "--connect-timeout 5 PATH -- echo ran", FIVE, &[REFUSED, "UNKNOWN: unknown host", "SILENT: accepts connections but doesn't answer"]),
    ("HASTY", "--connect-timeout 5 PATH -- echo ran", FIVE, &["HASTY: not a ZooKeeper", "HASTY: HTTP/1.1 400"]),
    ("PATIENT", "--connect-timeout 5 PATH -- echo ran", FIVE, &["PATIENT: not a ZooKeeper"]),
    ("CLOSES", "--connect-timeout 5 PATH -- echo ran", FIVE, &["CLOSES: closed the connection"]),
    // For as long as zklock says, or, with -n, only if a server doesn't answer.
    ("REFUSES", "-w 2 PATH -- echo ran", TWO, &["could be reached within 2s; ", REFUSED]),
    ("REFUSES", "--connect-timeout 2 PATH -- echo ran", TWO, &["could be reached within 2s; ", REFUSED]),
    ("REFUSES,ALSO", "-n -E 0 --connect-timeout 10m PATH -- echo ran", AT_ONCE, &["could be reached; ", REFUSED, "ALSO: connection refused"]),
    ("REFUSES,ALSO", "-w 0 -E 0 --connect-timeout 10m PATH -- echo ran", AT_ONCE, &["could be reached; ", REFUSED]),
    ("SILENT", "-w 2 -E 0 --connect-timeout 10m PATH -- echo ran", TWO, &["could be reached within 2s; name others"]),
    ("SILENT", "-n -w 2 --connect-timeout 10m PATH -- echo ran", TWO, &["could be reached within 2s; name others"]),
    ("SILENT", "-n --connect-timeout 300ms PATH -- echo ran", BRIEFLY, &["within 300ms; allow more time with --connect-timeout, or name others with -z or ZKLOCK_ZOOKEEPER"]),
    ("SILENT", "-w 0 --connect-timeout 300ms PATH -- echo ran", BRIEFLY, &["within 300ms; allow more time with --connect-timeout, or name others with -z or ZKLOCK_ZOOKEEPER"]),
    ("SILENT", "-n -w 300ms PATH -- echo ran", BRIEFLY, &["within 300ms; allow more time with -w, or name others with -z or ZKLOCK_ZOOKEEPER"]),
    ("REFUSES", "wait -w 300ms -E 0 PATH", BRIEFLY, &["within 300ms; allow more time with -w, or name others with -z or ZKLOCK_ZOOKEEPER"]),
    ("REFUSES", "wait --connect-timeout 300ms PATH", BRIEFLY, &["within 300ms; allow more time with --connect-timeout"]),
    ("REFUSES", "wait -n -E 0 PATH", AT_ONCE, &["no ZooKeeper server could be reached; ", REFUSED]),
    ("REFUSES,UNKNOWN", "status --connect-timeout 2 PATH", TWO, &["no ZooKeeper server could be reached within 2s", REFUSED, "UNKNOWN: "]),
    ("REFUSES,UNKNOWN", "revoke --connect-timeout 2 PATH", TWO, &["no ZooKeeper server could be reached within 2s", REFUSED, "UNKNOWN: "]),
    ("REFUSES", "status --connect-timeout 300ms --exit-code PATH", BRIEFLY, &["could be reached within 300ms; allow more time with --connect-timeout, or name others with -z or ZKLOCK_ZOOKEEPER"]),
    ("REFUSES", "-v status --connect-timeout 4 PATH", FOUR, CONNECTING),
    ("REFUSES", "-v revoke --connect-timeout 4 PATH", FOUR, CONNECTING),
    ("REFUSES", "-v forget --connect-timeout 4 PATH", FOUR, CONNECTING),
    // Otherwise a mistake in the connect string would look like free locks.
    ("SERVER/missing", "PATH -- echo ran", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "-n PATH -- echo ran", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "-w 60 PATH -- echo ran", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "status", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "status --json", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "status --watch", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "status --recursive PATH", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "status PATH", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "status --exit-code PATH", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "revoke PATH", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "forget PATH", AT_ONCE, NO_CHROOT),
    ("SERVER/missing", "wait -n PATH", AT_ONCE, NO_CHROOT),
];

/// Starts a server that treats every connection like this, and returns its address.
fn fake(treat: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let treat = treat.clone();
            thread::spawn(move || treat(stream));
        }
    });
    address
}

/// Reads until the data contains `enough`, then answers like a web server that didn't understand the request.
fn answer_as_http(mut stream: TcpStream, enough: &[u8]) {
    let mut seen = Vec::new();
    let mut bytes = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..count]);
        if enough.is_empty() || seen.windows(enough.len()).any(|window| window == enough) {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").ok();
            return;
        }
    }
}

/// The names in connect strings, and the addresses that they stand for.
type Servers = [(&'static str, String)];

/// Makes the call, and returns what is wrong with its end, if anything is.
fn try_row((hosts, words, time, says): &Row, servers: &Servers) -> Option<String> {
    let whole = |text: &str| servers.iter().fold(text.to_owned(), |text, (name, at)| text.replace(name, at));
    let call = words.split(' ').map(|word| word.replace("PATH", "/t/failures"));
    let output = Zklock::at(&whole(hosts), &new_marker()).args(call).run();
    let is_check = words.starts_with("check");
    let said = if is_check { &output.stdout } else { &output.stderr };
    let is_said = |text: &&str| match text.split_once(": ") {
        Some((name, rest)) if servers.iter().any(|(server, _)| server == &name) => {
            let of_it = format!("{}: ", whole(name));
            said.lines().any(|line| line.contains(&of_it) && line.contains(rest))
        }
        _ => said.contains(*text),
    };
    let is_right = output.code == Some(125)
        && (is_check || output.stdout.is_empty())
        && (!words.ends_with("ran") || said.starts_with("zklock: /t/failures: "))
        && (words.starts_with("-v") || !said.contains("connecting for"))
        && (*time..*time + LATE).contains(&output.elapsed)
        && says.iter().all(is_said);
    (!is_right).then(|| format!("{hosts} {words}: {:?}: {output}", output.elapsed))
}

/// Tries a row that fails again, twice: zklock asks in the last second, and the machine may hang just then.
#[track_caller]
fn try_all(rows: &[Row], servers: &Servers) {
    try_rows(rows.iter().copied(), |row| {
        let fails = |_| try_row(&row, servers).is_some();
        if (0..2).all(fails)
            && let Some(wrong) = try_row(&row, servers)
        {
            panic!("{wrong}");
        }
    });
}

#[test]
fn servers_that_cannot_be_used_are_told_in_time_and_nothing_runs() {
    let dead = [(); 2].map(|()| Proxy::to(shared()));
    for proxy in &dead {
        proxy.refuse_new(true);
    }
    let servers = [
        ("REFUSES", dead[0].connect_string()),
        ("ALSO", dead[1].connect_string()),
        ("UNKNOWN", "nosuch.invalid:2182".to_owned()),
        ("SILENT", fake(|_| thread::park())),
        // Web servers: one answers at once, and one waits for an empty line.
        ("HASTY", fake(|stream| answer_as_http(stream, b""))),
        ("PATIENT", fake(|stream| answer_as_http(stream, b"\r\n\r\n"))),
        ("CLOSES", fake(drop)),
        ("SERVER", shared().connect_string()),
    ];
    try_all(ROWS, &servers);
    assert!(!Case::new("missing").observer().exists("/missing"), "it isn't made");
}

/// One of three members; the others never start. A member that can't bind its own ports ends after some seconds.
fn lone_member() -> ServerBuilder {
    let (quorum, election) = (free_port(), free_port());
    let member = Server::builder().id(1).config("initLimit=20").config("syncLimit=5");
    member.config(&format!(
        "server.1=127.0.0.1:{quorum}:{election}\nserver.2=127.0.0.1:3:4\nserver.3=127.0.0.1:5:6"
    ))
}

#[test]
fn a_member_without_a_quorum_is_told() {
    let server = lone_member().launch();
    wait_until("the member", DEADLINE, || server.try_four_letter("ruok").is_ok());
    let call = ("MEMBER", "--connect-timeout 5 PATH -- echo ran", FIVE, &["MEMBER: no quorum"][..]);
    try_all(&[call], &[("MEMBER", server.connect_string())]);
}

/// A member that may serve readers without a quorum answers, but opens no session to a client that wants to write.
#[test]
fn a_member_that_is_read_only_is_told() {
    let server = lone_member().java_option("-Dreadonlymode.enabled=true").launch();
    wait_until("the member", DEADLINE, || {
        server.try_four_letter("srvr").is_ok_and(|said| said.contains("Mode: read-only"))
    });
    let says = &["MEMBER: read-only, because it has lost its quorum: start the other servers"][..];
    let call = ("MEMBER", "--connect-timeout 5 PATH -- echo ran", FIVE, says);
    try_all(&[call], &[("MEMBER", server.connect_string())]);
}

#[test]
fn servers_with_local_sessions_alone_are_told_what_to_set() {
    let ensemble = Ensemble::builder().config("localSessionsEnabled=true").start();
    let says = &["local sessions", "localSessionsUpgradingEnabled=true"];
    let calls = ["PATH -- echo ran", "check", "check PATH"].map(|words| ("LOCAL", words, AT_ONCE, &says[..]));
    try_all(&calls, &[("LOCAL", ensemble.connect_string())]);
}

#[test]
fn servers_that_upgrade_local_sessions_are_as_good_as_any() {
    let config = "localSessionsEnabled=true\nlocalSessionsUpgradingEnabled=true";
    let ensemble = Ensemble::builder().config(config).start();
    let zklock = Zklock::at(&ensemble.connect_string(), &new_marker());
    let output = zklock.args(["/t/upgraded", "--", "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}
