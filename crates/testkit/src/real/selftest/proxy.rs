use crate::real::{At, DEADLINE, Observer, Proxy, Server, new_marker, op, shared, wait_until};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use zookeeper::{Acl, CreateMode, ZkResult};

/// A client behind a proxy, and a direct client that sees what really happened.
struct Setup {
    proxy: Proxy,
    client: Arc<Observer>,
    direct: Observer,
    parent: String,
}

fn setup() -> Setup {
    let proxy = Proxy::to(shared());
    let direct = Observer::new(&shared().connect_string());
    let parent = format!("/proxy-{}", new_marker());
    direct.mkdirs(&parent);
    let short = Duration::from_secs(6);
    let client = Observer::with_session(&proxy.connect_string(), short);
    Setup { client: Arc::new(client), proxy, direct, parent }
}

impl Setup {
    /// Creates a node through the proxy; the observer repeats it when the connection is lost.
    fn create(&self, mode: CreateMode) -> ZkResult<String> {
        let acl = Acl::open_unsafe().clone();
        let path = format!("{}/n-", self.parent);
        self.client.create_with_acl(&path, "", mode, acl)
    }

    fn created(&self) -> usize {
        self.direct.children(&self.parent).len()
    }
}

#[test]
fn counts_what_passes() {
    let setup = setup();
    setup.create(CreateMode::PersistentSequential).unwrap();
    setup.client.children(&setup.parent);
    setup.client.children(&setup.parent);
    assert_eq!(setup.proxy.count(op::CONNECT), 1);
    assert_eq!(setup.proxy.count(op::CREATE), 1);
    assert_eq!(setup.proxy.count(op::GET_CHILDREN), 2);
    assert_eq!(setup.proxy.count_all(), 4);
}

#[test]
fn delays_each_way() {
    let setup = setup();
    setup.client.exists("/");
    setup.proxy.delay(Duration::from_millis(100));
    let start = Instant::now();
    setup.client.exists("/");
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn cut_before_the_server_loses_the_request() {
    let setup = setup();
    setup.proxy.once(op::CREATE, At::BeforeServer);
    setup.create(CreateMode::PersistentSequential).unwrap();
    setup.proxy.wait_fired(1, DEADLINE);
    assert_eq!(setup.created(), 1);
    assert_eq!(setup.proxy.count(op::CREATE), 2);
}

#[test]
fn cut_before_the_reply_loses_only_the_reply() {
    let setup = setup();
    setup.proxy.once(op::CREATE, At::BeforeReply);
    setup.create(CreateMode::PersistentSequential).unwrap();
    setup.proxy.wait_fired(1, DEADLINE);
    assert_eq!(setup.created(), 2);
}

#[test]
fn skips_requests_before_a_fault() {
    let setup = setup();
    setup.proxy.once_after(2, op::CREATE, At::BeforeReply);
    for expected in [1, 2, 4] {
        setup.create(CreateMode::PersistentSequential).unwrap();
        assert_eq!(setup.created(), expected);
    }
}

#[test]
fn holds_a_request_until_told() {
    let setup = setup();
    setup.proxy.once(op::GET_CHILDREN, At::Hold);
    let (client, parent) = (Arc::clone(&setup.client), setup.parent.clone());
    let listing = thread::spawn(move || client.children(&parent));
    setup.proxy.wait_fired(1, DEADLINE);
    setup.direct.create(&format!("{}/late", setup.parent), "", CreateMode::Persistent);
    setup.proxy.release();
    assert_eq!(listing.join().unwrap(), ["late"]);
}

#[test]
fn a_hole_delivers_later() {
    for hole in [Proxy::blackhole_to_server, Proxy::blackhole_to_client, Proxy::blackhole] {
        let setup = setup();
        setup.client.exists("/");
        hole(&setup.proxy);
        let client = Arc::clone(&setup.client);
        let asking = thread::spawn(move || client.exists("/"));
        // The test expects that nothing happens, so there is no event to wait for.
        thread::sleep(Duration::from_millis(300));
        assert!(!asking.is_finished());
        setup.proxy.pass();
        assert!(asking.join().unwrap());
        assert_eq!(setup.proxy.accepted(), 1);
    }
}

#[test]
fn a_session_behind_a_hole_expires() {
    let setup = setup();
    let node = setup.create(CreateMode::EphemeralSequential).unwrap();
    setup.proxy.blackhole();
    setup.direct.wait_until_gone(&node, DEADLINE);
}

#[test]
fn refuses_and_accepts_again() {
    let setup = setup();
    let node = setup.create(CreateMode::EphemeralSequential).unwrap();
    setup.proxy.refuse_new(true);
    assert!(setup.client.exists(&node), "the old connection stays");
    setup.proxy.cut_all();
    let address = setup.proxy.connect_string();
    let refused = std::net::TcpStream::connect(&address).expect_err("nothing listens");
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    setup.direct.wait_until_gone(&node, DEADLINE);
    setup.proxy.refuse_new(false);
    assert!(setup.client.exists("/"));
}

#[test]
fn passes_what_it_does_not_understand() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let ask = || crate::real::four_letter::ask(proxy.connect_string().parse().unwrap(), "ruok");
    assert_eq!(ask().unwrap(), "imok");
    server.kill();
    wait_until("a dead end", DEADLINE, || ask().is_err());
}
