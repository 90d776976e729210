//! What servers count of themselves.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Packets that clients sent and got, on all servers together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Packets {
    /// From clients.
    pub(crate) received: f64,
    /// To clients.
    pub(crate) sent: f64,
}

/// Asks every server of a connect string.
pub(crate) fn packets(hosts: &str) -> Packets {
    let mut all = Packets::default();
    for host in hosts.split(',') {
        let answer = ask(host, "mntr");
        all.received += number(&answer, "zk_packets_received");
        all.sent += number(&answer, "zk_packets_sent");
    }
    all
}

fn ask(host: &str, word: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("a server");
    stream.write_all(word.as_bytes()).expect("a question");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn number(answer: &str, name: &str) -> f64 {
    let line = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("mntr doesn't tell {name}"))
}
