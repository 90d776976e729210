use crate::support::{DEADLINE, Observer, Server, processes_of, shared, wait_until};
use std::time::Duration;
use zookeeper::CreateMode;

#[test]
fn answers_four_letter_words() {
    assert!(shared().four_letter("srvr").contains("Mode: standalone"));
    assert_eq!(shared().four_letter("ruok"), "imok");
}

#[test]
fn frozen_is_silent_until_it_thaws() {
    let server = Server::start();
    server.freeze();
    assert!(server.try_four_letter("ruok").is_err());
    server.thaw();
    wait_until("an answer", DEADLINE, || server.try_four_letter("ruok").is_ok());
}

#[test]
fn killed_and_restarted_has_its_port_and_data() {
    let server = Server::builder().tick_ms(300).start();
    let (port, pid) = (server.port(), server.pid());
    let observer = Observer::new(&server.connect_string());
    observer.create("/kept", "data", CreateMode::Persistent);
    server.kill();
    assert!(server.try_four_letter("ruok").is_err());
    server.restart();
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), pid);
    assert!(server.four_letter("conf").contains("tickTime=300"));
    assert_eq!(observer.data("/kept").as_deref(), Some("data"));
}

#[test]
fn ends_when_it_is_dropped() {
    let server = Server::start();
    let (port, pid) = (server.port(), server.pid().expect("a process"));
    drop(server);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    std::net::TcpListener::bind(("127.0.0.1", port)).expect("a free port");
}

#[test]
fn observer_sees_a_session_end_with_its_client() {
    let observer = Observer::new(&shared().connect_string());
    let short = Duration::from_secs(4);
    let client = Observer::with_session(&shared().connect_string(), short);
    let path = format!("/observer-{}", crate::support::new_marker());
    observer.mkdirs(&format!("{path}/a/b"));
    let node = client.create(&format!("{path}/n-"), "", CreateMode::EphemeralSequential);
    assert_ne!(observer.stat(&node).expect("the node").ephemeral_owner, 0);
    assert_eq!(observer.children(&path), ["a", "n-0000000001"]);
    drop(client);
    observer.wait_until_gone(&node, DEADLINE);
    assert!(processes_of("nobody's marker").is_empty());
}
