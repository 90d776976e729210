//! Each fault of the network really happens, and ends when it is healed: otherwise a run would prove nothing.

use crate::support::lan::Lan;
use crate::support::machine::Machine;
use crate::support::packets::Way;
use crate::support::{DEADLINE, Fault, Rng, wait_until};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Long enough for an answer of a server that has nothing else to do, and the time for which none may come.
const ANSWER: Duration = Duration::from_millis(400);
const ATTEMPTS: usize = 100;

/// Whether an open connection still gets an answer, and whether a new one can be opened.
const PACKETS: [(Fault, bool, bool); 5] = [
    (Fault::LosePackets, false, false),
    (Fault::LoseLarge, true, true),
    (Fault::ResetPackets, false, false),
    (Fault::LoseSyn, true, false),
    (Fault::ForgetConnections, false, true),
];

/// A host and a server, before a run.
struct Pair<'a> {
    host: &'a Machine,
    server: &'a Machine,
    address: SocketAddr,
}

/// Panics with the name of a fault that doesn't happen or doesn't end.
pub(super) fn check(lan: &Lan) {
    let address = lan.servers[0].connect_string().parse().expect("an address");
    let pair = Pair { host: &lan.hosts[0], server: &lan.server_machines[0], address };
    for (fault, answers, opens) in PACKETS {
        let open = pair.connect().expect("a connection");
        let heal = pair.lose(fault);
        assert_eq!(ask(open, b"ruok").is_ok(), answers, "{fault}: an answer on an open connection");
        let new = pair.connect().map_err(|error| error.kind());
        assert_eq!(new.is_ok(), opens, "{fault}: a new connection");
        let is_reset = matches!(new, Err(ErrorKind::ConnectionRefused));
        assert_eq!(is_reset, fault == Fault::ResetPackets, "{fault}: {new:?}");
        if let (Ok(new), Fault::LoseLarge) = (new, fault) {
            let large = [b"ruok".as_slice(), &[0; 500]].concat();
            assert!(ask(new, &large).is_err(), "a large packet arrives");
        }
        heal();
        pair.is_healed(fault);
    }
    let heal = pair.lose(Fault::LoseThird);
    let mut attempts = (0..ATTEMPTS).map(|_| pair.host.connect(pair.address, ANSWER / 4).is_ok());
    let first = attempts.next();
    assert!(attempts.any(|is_open| Some(is_open) != first), "a third is lost: all attempts end alike");
    heal();
    pair.is_healed(Fault::LoseThird);
    for fault in [Fault::Unplug, Fault::RemoveAddress, Fault::ChangeAddress] {
        let back = super::disconnect(fault, pair.server);
        assert!(pair.connect().is_err(), "{fault}: a connection can be opened");
        back();
        pair.is_healed(fault);
    }
    let (_, back) = super::move_to(lan, pair.server, &lan.hosts[1], true);
    let error = pair.connect().expect_err("the address is elsewhere");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "by a machine without a server");
    back();
    pair.is_healed(Fault::MoveAddress);
}

impl Pair<'_> {
    fn lose(&self, fault: Fault) -> Box<dyn Fn()> {
        super::lose(fault, &[self.there()], &mut Rng::new(1)).expect("an open connection")
    }

    fn there(&self) -> Way {
        (vec![self.host.clone()], vec![self.server.clone()])
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
