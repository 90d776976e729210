//! `ZooKeeper`'s four letter words: `srvr`, `conf`, `wchp`, `cons` and so on.

use std::io::{Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Sends a four letter word to this server; fails if no answer comes within a second.
pub fn ask(server: SocketAddr, word: &str) -> Result<String> {
    let limit = Some(Duration::from_secs(1));
    let mut stream = TcpStream::connect_timeout(&server, Duration::from_secs(1))?;
    stream.set_read_timeout(limit)?;
    stream.set_write_timeout(limit)?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The text after `key` on its line of a server's answer.
pub fn field<'a>(answer: &'a str, key: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}
