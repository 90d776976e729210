//! Each fault of the network really happens, and ends when it is healed: otherwise a run would prove nothing.

use crate::support::lan::Lan;
use crate::support::machine::Machine;
use crate::support::packets::{Rules, Way};
use crate::support::{DEADLINE, Fault, wait_until};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Long enough for an answer of a server that has nothing else to do, and the time for which none may come.
const ANSWER: Duration = Duration::from_millis(400);
const ATTEMPTS: usize = 100;

/// A host and a server, before a run.
struct Pair<'a> {
    lan: &'a Lan,
    host: &'a Machine,
    server: &'a Machine,
    address: SocketAddr,
}

/// Panics with the name of a fault that doesn't happen or doesn't end.
pub(super) fn check(lan: &Lan) {
    let address = lan.servers[0].connect_string().parse().expect("an address");
    let pair = Pair { lan, host: &lan.hosts[0], server: &lan.server_machines[0], address };
    pair.lost_packets();
    pair.lost_third();
    pair.lost_large_packets();
    pair.resets();
    pair.lost_syn();
    pair.forgotten_connections();
    for fault in [Fault::Unplug, Fault::RemoveAddress, Fault::ChangeAddress] {
        let back = super::disconnect(fault, pair.server);
        assert!(pair.connect().is_err(), "{fault}: a connection can be opened");
        back();
        pair.is_healed(fault);
    }
    pair.moved_address();
    pair.moved_address_that_was_there_first();
}

impl Pair<'_> {
    fn lost_packets(&self) {
        for way in [self.there(), self.back()] {
            let open = self.connect().expect("a connection");
            let cut = Rules::cut(&[way], "");
            assert!(ask(open, b"ruok").is_err(), "packets aren't lost");
            cut.delete();
            self.is_healed(Fault::LosePackets);
        }
    }

    fn lost_third(&self) {
        let cut = Rules::cut(&[self.there()], super::A_THIRD);
        let (mut opened, mut lost) = (0, 0);
        for _ in 0..ATTEMPTS {
            let attempt = self.host.connect(self.address, ANSWER / 4);
            *if attempt.is_ok() { &mut opened } else { &mut lost } += 1;
            if opened > 0 && lost > 0 {
                break;
            }
        }
        assert!(opened > 0 && lost > 0, "a third is lost: {opened} attempts succeed, {lost} fail");
        cut.delete();
        self.is_healed(Fault::LoseThird);
    }

    fn lost_large_packets(&self) {
        let cut = Rules::cut(&[self.there()], &super::larger_than(300));
        let large = [b"ruok".as_slice(), &[0; 500]].concat();
        let ask = |text: &[u8]| self.connect().and_then(|open| ask(open, text));
        assert!(ask(&large).is_err(), "a large packet arrives");
        assert!(ask(b"ruok").is_ok(), "a small packet is lost");
        cut.delete();
        self.is_healed(Fault::LoseLarge);
    }

    fn resets(&self) {
        let open = self.connect().expect("a connection");
        let rejects = Rules::reject(&[self.there()]);
        let error = ask(open, b"ruok").expect_err("no reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "an open connection");
        let error = self.connect().expect_err("no reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "a new connection");
        for reject in rejects {
            reject.delete();
        }
        self.is_healed(Fault::ResetPackets);
    }

    fn lost_syn(&self) {
        let open = self.connect().expect("a connection");
        let cut = Rules::cut(&[self.there()], super::SYN);
        assert!(self.connect().is_err(), "a new connection can be opened");
        assert!(ask(open, b"ruok").is_ok(), "an open connection is lost too");
        cut.delete();
        self.is_healed(Fault::LoseSyn);
    }

    fn forgotten_connections(&self) {
        let open = self.connect().expect("a connection");
        let cut = Rules::forget(&self.there()).expect("an open connection");
        assert!(ask(open, b"ruok").is_err(), "an open connection isn't forgotten");
        self.is_healed(Fault::ForgetConnections);
        cut.delete();
    }

    fn moved_address(&self) {
        let (server, other) = (self.server, &self.lan.hosts[1]);
        server.loses(server.address);
        other.has(server.address);
        self.lan.forget_neighbours();
        let error = self.connect().expect_err("the address is elsewhere");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "by a machine without a server");
        other.loses(server.address);
        server.has(server.address);
        self.lan.forget_neighbours();
        self.is_healed(Fault::MoveAddress);
    }

    /// A machine without its own address gets a server's, and keeps its own when that one goes back.
    fn moved_address_that_was_there_first(&self) {
        let (server, host) = (self.server, self.host);
        host.loses(host.address);
        server.loses(server.address);
        host.has(server.address);
        host.has(host.address);
        host.loses(server.address);
        server.has(server.address);
        self.lan.forget_neighbours();
        self.is_healed(Fault::RemoveAddress);
    }

    fn there(&self) -> Way {
        (vec![self.host.clone()], vec![self.server.clone()])
    }

    fn back(&self) -> Way {
        (vec![self.server.clone()], vec![self.host.clone()])
    }

    fn connect(&self) -> Result<TcpStream> {
        self.host.connect(self.address, ANSWER)
    }

    fn is_healed(&self, fault: Fault) {
        let answers = || self.connect().and_then(|open| ask(open, b"ruok")).is_ok();
        wait_until(&format!("an answer after {fault}"), DEADLINE, answers);
    }
}

/// Sends this, and fails unless the server answers.
fn ask(mut open: TcpStream, text: &[u8]) -> Result<()> {
    open.set_read_timeout(Some(ANSWER))?;
    open.write_all(text)?;
    open.read_exact(&mut [0; 4])
}
