//! Host names with several addresses, one of which is dead, and host names whose addresses change.

use crate::support::{
    Authority, Case, DEADLINE, Keys, Proxy, Running, Server, Zklock, end_holder, has_namespaces, op, shared,
    unshare, wait_until,
};
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// The resolver always puts the first before the second, whatever the order in the hosts file.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];

/// A host name that only zklock can resolve.
const NAME: &str = "zk.zklock.test";

/// The times are long enough for a first address that takes three attempts.
const OPTIONS: [&str; 5] = ["-vv", "--session-timeout", "12", "--connect-timeout", "30"];

const BIND: &str = "mount --bind /etc/hosts /etc/hosts";

/// A hosts file for zklock alone.
struct HostsFile(PathBuf);

impl HostsFile {
    fn new(case: &Case, addresses: &[Ipv4Addr]) -> Self {
        let file = Self(case.dir().join("hosts"));
        file.write(addresses);
        file
    }

    /// Writes the file in place, because this very file is mounted as zklock's `/etc/hosts`.
    fn write(&self, addresses: &[Ipv4Addr]) {
        let lines: Vec<_> = addresses.iter().map(|address| format!("{address} {NAME}\n")).collect();
        fs::write(&self.0, lines.concat()).expect("a hosts file");
    }

    /// zklock with this file for `/etc/hosts`, in a mount namespace of its own.
    fn within(&self, zklock: Zklock) -> Zklock {
        let mount = format!("mount --bind '{}' /etc/hosts", self.0.display());
        let script = format!("{mount} && exec \\\"\\$0\\\" \\\"\\$@\\\"");
        let unshare = unshare("--mount");
        zklock.prelude(&format!("exec {unshare} bash -c \"{script}\" \"$0\" \"$@\""))
    }
}

/// Two addresses of one name, and a shared server behind both.
fn pair() -> [Proxy; 2] {
    let first = Proxy::to(shared());
    let second = first.beside(ADDRESSES[1], shared());
    [first, second]
}

fn through(case: Case, port: u16) -> Case {
    case.through(&format!("{NAME}:{port}"))
}

/// Starts a holder and waits until its command runs.
#[track_caller]
fn holder(case: &Case, hosts: &HostsFile) -> Running {
    let job = ["sh", "-c", "echo holding; exec sleep 60"];
    let holder = hosts.within(case.lock(&OPTIONS, job)).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    holder
}

#[test]
fn a_silent_or_refusing_address_doesn_t_hide_the_other_at_the_start() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    for (dead, refuses) in [(0, false), (1, false), (0, true), (1, true)] {
        let proxies = pair();
        let case = through(Case::new("dead-address"), proxies[0].port());
        let hosts = HostsFile::new(&case, &ADDRESSES);
        if refuses {
            proxies[dead].refuse_new(true);
        } else {
            proxies[dead].blackhole();
        }
        let output = hosts.within(case.lock(&OPTIONS, ["echo", "ran"])).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
}

#[test]
fn a_holder_whose_address_falls_silent_continues_at_the_other() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    for silent in [0, 1] {
        let proxies = pair();
        let case = through(Case::new("falls-silent"), proxies[0].port());
        let hosts = HostsFile::new(&case, &ADDRESSES);
        // The holder can only connect to the address that is to fall silent.
        proxies[1 - silent].refuse_new(true);
        let holder = holder(&case, &hosts);
        proxies[1 - silent].refuse_new(false);
        let before = proxies[1 - silent].count(op::MULTI);
        proxies[silent].blackhole();
        holder.wait_for_line("connected again", DEADLINE);
        let confirmed = || proxies[1 - silent].count(op::MULTI) > before;
        wait_until("a confirmation at the other address", DEADLINE, confirmed);
        end_holder(holder);
    }
}

#[test]
fn an_address_that_comes_later_is_found_while_connecting() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    let proxies = pair();
    let case = through(Case::new("later-address"), proxies[0].port());
    let hosts = HostsFile::new(&case, &ADDRESSES[..1]);
    proxies[0].refuse_new(true);
    let options = ["-vv", "--connect-timeout", "30"];
    let running = hosts.within(case.lock(&options, ["echo", "ran"])).spawn();
    running.wait_for_line("no session with", DEADLINE);
    hosts.write(&ADDRESSES[1..]);
    assert_eq!(running.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn a_holder_whose_addresses_all_change_continues_at_the_new_one() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    let [first, second] = pair();
    let newest = Ipv4Addr::new(127, 0, 0, 3);
    let third = first.beside(newest, shared());
    let case = through(Case::new("new-address"), first.port());
    let hosts = HostsFile::new(&case, &ADDRESSES);
    let holder = holder(&case, &hosts);
    hosts.write(&[newest]);
    for old in [&first, &second] {
        old.refuse_new(true);
        old.cut_all();
    }
    holder.wait_for_line("connected again", DEADLINE);
    wait_until("a confirmation at the new address", DEADLINE, || third.count(op::MULTI) > 0);
    end_holder(holder);
}

#[test]
fn each_address_is_named_with_what_it_said() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    let proxies = pair();
    let case = through(Case::new("told-addresses"), proxies[0].port());
    let hosts = HostsFile::new(&case, &ADDRESSES);
    proxies[0].blackhole();
    proxies[1].refuse_new(true);
    // Long enough to ask both.
    let output = hosts.within(case.lock(&["--connect-timeout", "8"], ["true"])).run();
    output.assert_code(125);
    output.assert_stderr(&format!("{} (127.0.0.1): accepts connections but doesn't answer", case.hosts()));
    output.assert_stderr(&format!("{} (127.0.0.2): connection refused", case.hosts()));
}

/// The certificate contains the name, and an address from a resolver proves nothing.
#[test]
fn with_tls_the_name_is_checked_whatever_its_addresses() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    let authority = Authority::new("authority");
    let keys = Keys::new(&authority.sign("server", &[NAME]), &authority, "none");
    let server = Server::builder().tls_at([127, 0, 0, 2], &keys).start();
    let port = server.secure_port();
    let case = through(Case::on(&server, "tls-name"), port);
    let hosts = HostsFile::new(&case, &ADDRESSES);
    let ca = keys.authority().display().to_string();
    let options = ["--tls-ca", &ca, "--connect-timeout", "8"];
    // The first address refuses the connection, because nothing listens there.
    let output = hosts.within(case.lock(&options, ["echo", "ran"])).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    let by_address = through_address(&case, port);
    let output = by_address.args(options).args([case.path(), "true"]).run();
    output.assert_code(125).assert_stderr("TLS: invalid peer certificate: certificate not valid for name");
    assert!(output.elapsed < Duration::from_secs(25), "{output}");
}

fn through_address(case: &Case, port: u16) -> Zklock {
    Zklock::at(&format!("{}:{port}", ADDRESSES[1]), case.marker())
}
