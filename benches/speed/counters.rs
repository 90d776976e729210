//! Reads the servers' own counters, with the four-letter word `mntr`.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The packets of all servers together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Packets {
    /// Received from clients.
    pub(crate) received: f64,
    /// Sent to clients.
    pub(crate) sent: f64,
}

/// Reads the counters of all servers in a connect string.
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
    line.and_then(|value| value.trim().parse().ok())
        .unwrap_or_else(|| panic!("the answer to mntr has no {name}"))
}
