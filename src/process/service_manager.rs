//! Notices to the service manager, over the socket that `NOTIFY_SOCKET` names (`sd_notify(3)`).
//!
//! They are datagrams over a connection that is made before zklock becomes two processes, and are dropped if the manager
//! doesn't take them at once: no notice ever holds up a confirmation, a stop or a release. The crate `sd-notify` would
//! wait, and knows no abstract names, so it only words them.

use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;
use std::time::Duration;

use sd_notify::NotifyState;
use zklock_core::text::printable_up_to;

/// The variable, which the command has, too.
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// The longest state, in characters. systemd ignores a notice of more than 4096 bytes.
const LONGEST: usize = 1000;

static SOCKET: OnceLock<Option<UnixDatagram>> = OnceLock::new();

/// Whether there is a service manager to be told anything. The first call connects to it.
pub fn is_there() -> bool {
    SOCKET.get_or_init(connect_by_variable).is_some()
}

/// Sends a state, and how much longer the start or stop of the service may take. Never waits.
pub fn notify(status: Option<&str>, extend: Duration) {
    let Some(Some(socket)) = SOCKET.get() else { return };
    // A line break would begin another assignment.
    let status = status.map(|status| printable_up_to(LONGEST, status));
    let micros = u32::try_from(extend.as_micros()).unwrap_or(u32::MAX);
    let told = [status.as_deref().map(NotifyState::Status), Some(NotifyState::ExtendTimeoutUsec(micros))];
    let notice = told.iter().flatten().fold(String::new(), |notice, line| notice + &line.to_string() + "\n");
    if let Err(error) = socket.send(notice.as_bytes()) {
        log::debug!("the service manager wasn't told: {error}");
    }
}

fn connect_by_variable() -> Option<UnixDatagram> {
    let name = env::var_os(NOTIFY_SOCKET).filter(|name| !name.is_empty())?;
    let connected = connect(name.as_bytes());
    connected.inspect_err(|error| log::debug!("{NOTIFY_SOCKET}: {error}; no notices are sent")).ok()
}

fn connect(name: &[u8]) -> io::Result<UnixDatagram> {
    let address = match name {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(OsStr::from_bytes(name))?,
        _ => return Err(io::Error::new(ErrorKind::InvalidInput, "neither a path nor an abstract name")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_named_by_a_path_or_abstractly() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("notify");
        let _by_path = UnixDatagram::bind(&path)?;
        assert!(connect(path.as_os_str().as_bytes()).is_ok());
        let name = path.as_os_str().as_bytes();
        let _abstractly = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        assert!(connect(&[b"@", name].concat()).is_ok());
        for name in ["relative", "vsock:2:1", "@nobody-is-there", "/nobody/is/there", &"/x".repeat(200)] {
            assert!(connect(name.as_bytes()).is_err(), "{name}");
        }
        Ok(())
    }
}
