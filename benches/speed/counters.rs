//! Reads the servers' own counters, with the four-letter word `mntr`.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The packets that a server has received from clients.
pub(crate) fn packets_received(host: &str) -> f64 {
    let mut stream = TcpStream::connect(host).expect("a server");
    stream.write_all(b"mntr").expect("a question");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let line = answer.lines().find_map(|line| line.strip_prefix("zk_packets_received\t"));
    line.and_then(|value| value.trim().parse().ok()).expect("the number of packets")
}
