//! What a service manager is told over the socket that it names in `NOTIFY_SOCKET`.
//!
//! [`runners`](crate::runners) has units that systemd runs.

mod notices;

use crate::support::{Case, DEADLINE, wait_for};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Mutex;

/// A service manager that writes down what it is told.
struct Manager {
    socket: UnixDatagram,
    name: OsString,
    told: Mutex<VecDeque<String>>,
}

impl Manager {
    /// A manager with a socket in the case's directory.
    fn new(case: &Case) -> Self {
        let path = case.dir().join("notify");
        Self::with(UnixDatagram::bind(&path).expect("a socket"), path.into())
    }

    /// A manager whose socket has an abstract name.
    fn abstractly(case: &Case) -> Self {
        let name = format!("zklock-test/{}", case.marker());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        Self::with(UnixDatagram::bind_addr(&address).expect("a socket"), format!("@{name}").into())
    }

    fn with(socket: UnixDatagram, name: OsString) -> Self {
        socket.set_nonblocking(true).expect("a socket");
        Self { socket, name, told: Mutex::default() }
    }

    /// The next notice, if one has come.
    fn next(&self) -> Option<String> {
        let mut buffer = [0; 8192];
        match self.socket.recv(&mut buffer) {
            Ok(size) => Some(String::from_utf8(buffer[..size].to_vec()).expect("text")),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                None
            }
        }
    }

    /// Waits for a notice with this text, and returns it. Those before it are kept.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        wait_for(text, DEADLINE, || {
            let notice = self.next()?;
            self.told.lock().unwrap().push_back(notice.clone());
            notice.contains(text).then_some(notice)
        })
    }

    /// All notices so far.
    fn told(&self) -> Vec<String> {
        let mut told = self.told.lock().unwrap();
        told.extend(std::iter::from_fn(|| self.next()));
        told.iter().cloned().collect()
    }
}
