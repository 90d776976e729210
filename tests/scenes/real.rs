//! Real servers as a stage, with proxies in front of them and between them.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use zklock::ensemble::{Asker, Hosts, Requester, Security, Session, SessionEvent, Settings};
use zklock_core::protocol::QuestionIndex;

use super::jute;
use super::{CLIENTS, CONTAINER_CHECK, Heard, SYNC_LIMIT, Stage, TICK};
use crate::client::ClientEvent;
use crate::client::message::{NodePath, Request};
use crate::ensemble::wire::{Op, ToClient};
use crate::support::four_letter::field;
use crate::support::jute::{Bytes, Packet, Reader};
use crate::support::network::{Network, ServerSettings};
use crate::support::{DEADLINE, Proxy, Server, ServerBuilder, pass_time, wait_for};

enum Servers {
    One(Box<Server>, Vec<Proxy>),
    Three(Box<Network>),
}

struct Raw {
    stream: TcpStream,
    packets: Receiver<Packet>,
    is_greeted: bool,
    /// The operation codes of unanswered requests.
    asked: VecDeque<i32>,
    xid: i32,
}

pub(super) struct Real {
    servers: Servers,
    began: Instant,
    raw: BTreeMap<usize, Raw>,
    sessions: BTreeMap<usize, (Requester, Receiver<ClientEvent>)>,
    passwords: BTreeMap<i64, Vec<u8>>,
    down: Vec<usize>,
}

fn client_event(event: SessionEvent) -> ClientEvent {
    match event {
        SessionEvent::Change(change) => ClientEvent::Session(change),
        SessionEvent::Reply(Asker::Question(QuestionIndex(number)), reply) => {
            ClientEvent::Reply(number, reply)
        }
        // The deletes of a release have no number of their own.
        SessionEvent::Reply(_, reply) => ClientEvent::Reply(0, reply),
    }
}

fn with_containers(builder: ServerBuilder) -> ServerBuilder {
    let option = format!("-Dznode.container.checkIntervalMs={}", CONTAINER_CHECK.as_millis());
    builder.java_option(&option)
}

impl Real {
    /// 1 or 3 servers.
    pub(super) fn new(servers: usize) -> Self {
        let tick_ms = TICK.as_millis() as u32;
        let servers = if servers == 1 {
            let server = with_containers(Server::builder()).tick_ms(tick_ms).start();
            let proxies = (0..CLIENTS).map(|_| Proxy::to(&server)).collect();
            Servers::One(Box::new(server), proxies)
        } else {
            let settings = ServerSettings { tick_ms, sync_limit: SYNC_LIMIT as u32 };
            Servers::Three(Box::new(Network::start_with(settings, CLIENTS, with_containers)))
        };
        let (raw, sessions, passwords) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { servers, began: Instant::now(), raw, sessions, passwords, down: vec![] }
    }

    /// The first two numbers of the servers' version.
    pub(super) fn version(&self) -> [u32; 2] {
        let answer = self.server(0).four_letter("srvr");
        let version = field(&answer, "Zookeeper version:").expect("a version");
        let mut numbers = version.split('.').map(|number| number.parse().expect("a number"));
        [(); 2].map(|()| numbers.next().expect("two numbers"))
    }

    fn server(&self, server: usize) -> &Server {
        match &self.servers {
            Servers::One(one, _) => one,
            Servers::Three(network) => &network.servers[server],
        }
    }

    fn link(&self, zone: usize, server: usize) -> &Proxy {
        match &self.servers {
            Servers::One(_, proxies) => &proxies[zone],
            Servers::Three(network) => &network.zone(zone)[server],
        }
    }

    fn network(&self) -> &Network {
        match &self.servers {
            Servers::One(..) => panic!("a scene for several servers"),
            Servers::Three(network) => network,
        }
    }
}

fn understand(raw: &mut Raw, packet: &[u8], passwords: &mut BTreeMap<i64, Vec<u8>>) -> Option<ToClient> {
    if raw.is_greeted {
        return jute::decode(packet, || raw.asked.pop_front().expect("a question"));
    }
    raw.is_greeted = true;
    let mut reader = Reader(packet);
    let (_version, timeout_ms, session) = (reader.int()?, reader.int()?, reader.long()?);
    passwords.insert(session, reader.buffer()?.to_vec());
    Some(ToClient::Connected { session, timeout_ms })
}

impl Stage for Real {
    fn size(&self) -> usize {
        match &self.servers {
            Servers::One(..) => 1,
            Servers::Three(network) => network.servers.len(),
        }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn settle(&mut self) -> usize {
        if self.size() == 1 {
            self.server(0).wait_ready();
            return 0;
        }
        wait_for("a leader with all its followers", DEADLINE * 2, || {
            let modes = (0..self.size()).filter(|server| !self.down.contains(server));
            let modes: Vec<_> = modes.map(|server| (server, self.server(server).mode())).collect();
            let leaders = modes.iter().filter(|(_, mode)| mode.as_deref() == Some("leader"));
            let leaders: Vec<usize> = leaders.map(|(server, _)| *server).collect();
            let followers = modes.iter().filter(|(_, mode)| mode.as_deref() == Some("follower")).count();
            (leaders.len() == 1 && followers + 1 == modes.len()).then(|| leaders[0])
        })
    }

    fn connect(&mut self, who: usize, server: usize, session: i64, timeout_ms: i32) {
        self.hang_up(who);
        let stream = TcpStream::connect(self.link(who, server).connect_string()).expect("a proxy");
        stream.set_nodelay(true).unwrap();
        let hello = Bytes::default().int(0).long(0).int(timeout_ms).long(session);
        let password = self.passwords.get(&session).map_or(&[0; 16][..], Vec::as_slice);
        (&stream).write_all(&hello.buffer(password).bool(false).packet()).ok();
        let (sender, packets) = channel();
        let mut source = stream.try_clone().unwrap();
        thread::spawn(move || {
            while let Ok(Some(packet)) = Packet::read(&mut source, false) {
                sender.send(packet).ok();
            }
        });
        self.raw.insert(who, Raw { stream, packets, is_greeted: false, asked: VecDeque::new(), xid: 0 });
    }

    fn send(&mut self, who: usize, op: Op) {
        let raw = self.raw.get_mut(&who).unwrap();
        raw.xid += 1;
        let code = jute::code(&op);
        raw.asked.push_back(code);
        let request = jute::encode(Bytes::default().int(raw.xid).int(code), &op);
        raw.stream.write_all(&request.packet()).ok();
    }

    fn hear(&mut self, who: usize, within: Duration) -> Heard {
        let Some(raw) = self.raw.get_mut(&who) else {
            pass_time(within);
            return Heard::Silence;
        };
        match raw.packets.recv_timeout(within) {
            Ok(packet) => {
                let packet = understand(raw, packet.contents(), &mut self.passwords);
                Heard::Packet(packet.expect("a whole packet"))
            }
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::Closed,
        }
    }

    fn hang_up(&mut self, who: usize) {
        if let Some(raw) = self.raw.remove(&who) {
            raw.stream.shutdown(Shutdown::Both).ok();
        }
    }

    fn open(&mut self, who: usize, servers: &[usize], timeout: Duration) {
        let hosts: Vec<_> = servers.iter().map(|server| self.link(who, *server).connect_string()).collect();
        let hosts = Hosts::parse(&hosts.join(",")).expect("addresses");
        let settings = Settings {
            hosts,
            session_timeout: timeout,
            deadline: None,
            refusals_end: false,
            security: Security::default(),
        };
        let (sender, news) = channel();
        let (handed_over, requester) = channel();
        thread::spawn(move || {
            let (requester, mut session) = Session::open(settings);
            handed_over.send(requester).expect("the receiver");
            while let Some(event) = block_on(poll_fn(|context| session.next_event(context.waker()))) {
                sender.send(client_event(event)).ok();
            }
        });
        self.sessions.insert(who, (requester.recv().expect("a requester"), news));
    }

    fn ask(&mut self, who: usize, number: usize, request: Request) {
        self.sessions[&who].0.ask(Asker::Question(QuestionIndex(number)), request);
    }

    fn release(&mut self, who: usize, nodes: Vec<NodePath>) {
        self.sessions[&who].0.release(nodes);
    }

    fn news(&mut self, who: usize, within: Duration) -> Option<ClientEvent> {
        self.sessions.get(&who)?.1.recv_timeout(within).ok()
    }

    fn cut(&mut self, zone: usize, server: usize) {
        self.link(zone, server).cut_all();
    }

    fn refuse(&mut self, zone: usize, server: usize, is_refusing: bool) {
        self.link(zone, server).refuse_new(is_refusing);
    }

    fn set_hole(&mut self, zone: usize, server: usize, is_hole: bool) {
        let link = self.link(zone, server);
        if is_hole { link.blackhole() } else { link.pass() }
    }

    fn crash(&mut self, server: usize) {
        self.server(server).kill();
        self.down.push(server);
    }

    fn restart(&mut self, server: usize) {
        self.server(server).relaunch();
        self.down.retain(|other| *other != server);
    }

    fn freeze(&mut self, server: usize) {
        self.server(server).freeze();
        self.down.push(server);
    }

    fn thaw(&mut self, server: usize) {
        self.server(server).thaw();
        self.down.retain(|other| *other != server);
    }

    fn isolate(&mut self, server: usize, is_isolated: bool) {
        let network = self.network();
        if is_isolated { network.isolate(server) } else { network.reconnect(server) }
    }

    fn delay_follower(&mut self, leader: usize, follower: usize, delay: Duration) {
        self.network().delay_from(leader, follower, delay);
    }
}
