//! A machine: this one, or a network namespace with an address of its own.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// A machine on which servers and contenders run.
#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub address: Ipv4Addr,
    /// What it has instead when its address changes.
    pub other_address: Ipv4Addr,
    /// The words before a command that runs on it.
    pub words: Vec<String>,
}

impl Machine {
    /// The one on which the tests run.
    pub fn this() -> Self {
        let address = Ipv4Addr::LOCALHOST;
        Self { name: "this machine".to_owned(), address, other_address: address, words: vec![] }
    }

    /// A network namespace with this name, and the number in its addresses.
    pub(super) fn namespace(name: String, number: u8) -> Self {
        let words = ["nsenter", &format!("--net=/run/netns/{name}"), "--"].map(str::to_owned).to_vec();
        let (address, other_address) = (Ipv4Addr::new(10, 77, 0, number), Ipv4Addr::new(10, 77, 1, number));
        Self { name, address, other_address, words }
    }

    /// Runs a command on it. See [`run`].
    pub fn run(&self, command: &str) -> String {
        run(&format!("{} {command}", self.words.join(" ")))
    }

    /// Opens a connection from it.
    pub fn connect(&self, to: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        let namespace = File::open(format!("/run/netns/{}", self.name))?;
        // A socket stays in the namespace of the thread that opened it.
        let open = move || {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            TcpStream::connect_timeout(&to, within)
        };
        thread::spawn(open).join().expect("a thread that doesn't panic")
    }
}

/// Runs a command, whose words are separated by spaces, and returns its output. Panics if it fails.
pub fn run(command: &str) -> String {
    let words: Vec<_> = command.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
