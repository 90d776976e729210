//! The units of `docs/systemd.md`, run by systemd itself.

use crate::support::{Case, DEADLINE, Running, Systemd, end, pass_time, wait_until};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const PAGE: &str = include_str!("../../docs/systemd.md");

const SERVICE: &str = "zklock-importer.service";

/// A service that reports when it is ready, and says what it is told.
const IMPORTER: &str = "#!/bin/bash
trap 'echo reloaded' HUP
trap 'echo stopping; exit 0' TERM
systemd-notify --ready --status=\"serving with $1\"
while :; do sleep 0.1; done
";

/// A service that takes its socket from systemd, and reports to the watchdog until it is told to hang.
const WEB: &str = "#!/usr/bin/env python3
import os, socket, time
def tell(text):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = os.environ['NOTIFY_SOCKET']
    manager.sendto(text, '\\0' + name[1:] if name[0] == '@' else name)
assert os.environ['LISTEN_PID'] == os.environ['WATCHDOG_PID'] == str(os.getpid())
listener = socket.socket(fileno=3)
listener.settimeout(0.1)
tell(b'READY=1')
while True:
    tell(b'WATCHDOG=1')
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        continue
    if connection.recv(100) == b'hang':
        time.sleep(60)
    connection.sendall(b'served')
    connection.close()
";

/// A file of the page, as its readers copy it.
fn file(name: &str) -> String {
    let (_, rest) = PAGE.split_once(&format!("<!-- file {name} -->\n```ini\n")).expect("a file of the page");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// A case whose lock paths are those of the page, below a chroot of its own.
fn case(name: &str) -> Case {
    below_chroot(Case::new(name))
}

fn root(case: &Case) -> String {
    format!("{}-root", case.path())
}

fn below_chroot(case: Case) -> Case {
    let root = root(&case);
    case.observer().mkdirs(&root);
    let hosts = format!("{}{root}", case.hosts());
    case.through(&hosts)
}

/// systemd with the page's units and with what they run, on the case's servers. `None` if it can't be started.
fn systemd(case: &Case) -> Option<Systemd<'_>> {
    let systemd = Systemd::start(case)?;
    systemd.program("importer", IMPORTER).program("web", WEB);
    // /etc is the machine's.
    let settings = case.dir().join("zklock.toml");
    fs::write(&settings, format!("zookeeper = \"{}\"\nsession-timeout = 6\n", case.hosts())).expect("a file");
    systemd.ctl(&["set-environment", &format!("ZKLOCK_CONFIG={}", settings.display())]);
    for name in [SERVICE, "zklock-web.service", "zklock-web.socket"] {
        systemd.unit(name, &file(name));
    }
    systemd.unit(&format!("{SERVICE}.d/soon.conf"), "[Service]\nRestartSec=100ms\n");
    systemd.ctl(&["daemon-reload"]);
    Some(systemd)
}

/// Makes the service one that has started when its command is ready.
fn wait_until_ready(systemd: &Systemd<'_>, more: &str) {
    systemd.unit(&format!("{SERVICE}.d/notify.conf"), &(file("notify.conf") + more)).ctl(&["daemon-reload"]);
}

/// A holder on another host.
fn other_host(case: &Case, lock: &str) -> Running {
    let holder =
        case.zklock().args(["--label", "importer", lock, "--", "sh", "-c", "echo up; sleep 60"]).spawn();
    holder.wait_for_stdout("up", DEADLINE);
    holder
}

fn contenders(case: &Case) -> usize {
    case.observer().children(&format!("{}/locks/importer", root(case))).len()
}

#[test]
fn a_service_stands_by_takes_over_reloads_and_stops() {
    let case = case("systemd");
    let Some(systemd) = systemd(&case) else { return };
    // No start takes longer, unless zklock asks for more time.
    wait_until_ready(&systemd, "TimeoutStartSec=5\nTimeoutStopSec=30\n");
    let holder = other_host(&case, "/locks/importer");
    systemd.ctl(&["start", "--no-block", SERVICE]);
    systemd.wait_for(SERVICE, "StatusText", "/locks/importer: position 2, behind ");
    pass_time(Duration::from_secs(6));
    assert_eq!(systemd.show(SERVICE, "ActiveState"), "activating");
    assert_eq!(systemd.show(SERVICE, "NRestarts"), "0");

    end(holder);
    systemd.wait_for(SERVICE, "ActiveState", "active");
    systemd.wait_for(SERVICE, "SubState", "running");
    systemd.wait_for(SERVICE, "StatusText", "serving with --serve");
    systemd.ctl(&["reload", SERVICE]);
    let said = |text: &str| systemd.journal().iter().any(|said| said == text);
    wait_until("the service to be reloaded", DEADLINE, || said("reloaded"));
    assert_eq!(systemd.show(SERVICE, "StatusText"), "serving with --serve");

    systemd.ctl(&["stop", SERVICE]);
    assert_eq!(systemd.show(SERVICE, "Result"), "success");
    assert_eq!(contenders(&case), 0);
    wait_until("its last words", DEADLINE, || said("stopping"));
    let messages = systemd.journal();
    for text in ["queued as", "acquired after", "released"] {
        assert!(messages.iter().any(|said| said.contains(text)), "{text}: {messages:#?}");
    }
}

#[test]
fn a_connection_waits_for_the_lock_and_the_watchdog_for_the_command() {
    let case = case("systemd-socket");
    let Some(systemd) = systemd(&case) else { return };
    let path = case.dir().join("socket");
    let unit = "zklock-web.service";
    systemd.unit(
        "zklock-web.socket.d/here.conf",
        &format!("[Socket]\nListenStream=\nListenStream={}\n", path.display()),
    );
    systemd.unit(
        &format!("{unit}.d/soon.conf"),
        "[Service]\nWatchdogSec=6\nTimeoutStartSec=4\nRestartSec=100ms\n",
    );
    systemd.ctl(&["daemon-reload"]);
    let holder = other_host(&case, "/locks/web");
    systemd.ctl(&["start", "zklock-web.socket"]);
    let send = |text: &[u8]| {
        let mut connection = UnixStream::connect(&path).expect("systemd listens");
        connection.write_all(text).expect("a connection");
        connection
    };
    let mut first = send(b"hello");
    systemd.wait_for(unit, "StatusText", "/locks/web: position 2");
    pass_time(Duration::from_secs(5));
    assert_eq!((&*systemd.show(unit, "ActiveState"), &*systemd.show(unit, "NRestarts")), ("activating", "0"));
    end(holder);
    let mut answer = String::new();
    first.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "served");

    systemd.wait_for(unit, "SubState", "running");
    assert_eq!(systemd.show(unit, "NRestarts"), "0");
    let _hung = send(b"hang");
    systemd.wait_for(unit, "NRestarts", "1");
    systemd.wait_for(unit, "SubState", "running");
    systemd.ctl(&["stop", "zklock-web.socket", unit]);
}
