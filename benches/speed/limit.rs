//! The limit: the least time that a run under a lock in ZooKeeper can take. One socket, no client library, and all
//! requests in two flights.
//!
//! It has no lease, no waiting, no second process, no signal handling and no lost answers, so it is only good for
//! comparison.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, ExitCode};

use crate::wire::{DATA, SESSION, prefix};

// The numbers of the requests (ZooDefs.OpCode).
const DELETE: i32 = 2;
const GET_CHILDREN: i32 = 12;
const CREATE: i32 = 15;
const CLOSE: i32 = -11;

const ALL_PERMISSIONS: i32 = 31;
const EPHEMERAL_SEQUENTIAL: i32 = 3;
const ANY_VERSION: i32 = -1;

/// The length of an answer's header: the request's number, the transaction's number, and an error.
const HEADER: usize = 16;

/// Connects, creates and lists, runs `command`, deletes and closes. The lock must be free.
pub(crate) fn contend(host: &str, path: &str, command: &[&str]) -> ExitCode {
    let mut stream = TcpStream::connect(host).expect("a server");
    stream.set_nodelay(true).expect("a socket");
    let timeout = i32::try_from(SESSION.as_millis()).expect("a short time");
    let connect = Packet::default().int(0).long(0).int(timeout).long(0).bytes(&[0; 16]).flag(false);
    send(&mut stream, &[connect]);
    receive(&mut stream);

    let create = request(1, CREATE).text(&prefix(path)).bytes(DATA);
    let create = create.int(1).int(ALL_PERMISSIONS).text("world").text("anyone").int(EPHEMERAL_SEQUENTIAL);
    let list = request(2, GET_CHILDREN).text(path).flag(false);
    send(&mut stream, &[create, list]);
    let created = answer(&receive(&mut stream));
    let node = String::from_utf8(created[4..4 + length(&created)].to_vec()).expect("a path");
    answer(&receive(&mut stream));

    let (program, arguments) = command.split_first().expect("a command");
    let status = Command::new(program).args(arguments).status().expect("a child");

    let delete = request(3, DELETE).text(&node).int(ANY_VERSION);
    send(&mut stream, &[delete, request(4, CLOSE)]);
    answer(&receive(&mut stream));
    answer(&receive(&mut stream));
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255))
}

/// A request as its bytes.
#[derive(Default)]
struct Packet(Vec<u8>);

impl Packet {
    fn int(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn long(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn flag(mut self, value: bool) -> Self {
        self.0.push(value.into());
        self
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut this = self.int(i32::try_from(bytes.len()).expect("a short text"));
        this.0.extend(bytes);
        this
    }

    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }
}

fn request(number: i32, kind: i32) -> Packet {
    Packet::default().int(number).int(kind)
}

/// Sends all packets in one call.
fn send(stream: &mut TcpStream, packets: &[Packet]) {
    let bytes = packets.iter().fold(Packet::default(), |all, packet| all.bytes(&packet.0));
    stream.write_all(&bytes.0).expect("a connection");
}

fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).expect("an answer");
    let mut packet = vec![0; length(&head)];
    stream.read_exact(&mut packet).expect("the whole answer");
    packet
}

/// What follows the header of an answer that is no error.
fn answer(packet: &[u8]) -> Vec<u8> {
    let (header, rest) = packet.split_at(HEADER);
    assert_eq!(header[12..], [0; 4], "the server refuses");
    rest.to_vec()
}

fn length(bytes: &[u8]) -> usize {
    let length = bytes.first_chunk().map(|first| i32::from_be_bytes(*first));
    length.and_then(|length| usize::try_from(length).ok()).expect("a length")
}
