//! Host names with several addresses, one of which is dead, and host names whose addresses change.

use crate::support::{
    Authority, Case, DEADLINE, Keys, Proxy, Running, Server, Zklock, end_holder, has_namespaces, op, shared,
    wait_until,
};
use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The resolver always puts the first before the second, whatever the order in the hosts file.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];

/// A host name that only zklock can resolve.
const NAME: &str = "zk.zklock.test";

/// The times are long enough for a first address that takes three attempts.
const OPTIONS: [&str; 5] = ["-vv", "--session-timeout", "12", "--connect-timeout", "30"];

const BIND: &str = "mount --bind /etc/hosts /etc/hosts";

/// [`ADDRESSES`] with a shared server behind both, and a case whose zklock finds [`NAME`] and `addresses` in a hosts file of its
/// own; `None` if zklock can't have such a file here.
fn start(name: &str, addresses: &[Ipv4Addr]) -> Option<([Proxy; 2], Case)> {
    let first = Proxy::to(shared());
    let second = first.beside(ADDRESSES[1], shared());
    let case = Case::new(name).through(&format!("{NAME}:{}", first.port()));
    set_addresses(&case, addresses);
    has_namespaces("--mount", BIND).then_some(([first, second], case))
}

/// Writes the hosts file in place, because this very file is mounted as zklock's `/etc/hosts`.
fn set_addresses(case: &Case, addresses: &[Ipv4Addr]) {
    let lines: Vec<_> = addresses.iter().map(|address| format!("{address} {NAME}\n")).collect();
    fs::write(case.dir().join("hosts"), lines.concat()).expect("a hosts file");
}

/// zklock with the case's hosts file.
fn lock(case: &Case, options: &[&str], command: &[&str]) -> Zklock {
    let file = case.dir().join("hosts");
    case.lock(options, command).with_own_mounts(&format!("mount --bind {} /etc/hosts", file.display()))
}

/// Starts a holder and waits until its command runs.
#[track_caller]
fn holder(case: &Case) -> Running {
    let holder = lock(case, &OPTIONS, &["sh", "-c", "echo holding; exec sleep 60"]).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    holder
}

#[test]
fn a_silent_or_refusing_address_doesn_t_hide_the_other_at_the_start() {
    for (dead, refuses) in [(0, false), (1, false), (0, true), (1, true)] {
        let Some((proxies, case)) = start("dead-address", &ADDRESSES) else { return };
        if refuses {
            proxies[dead].refuse_new(true);
        } else {
            proxies[dead].blackhole();
        }
        let output = lock(&case, &OPTIONS, &["echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
}

#[test]
fn a_holder_whose_address_falls_silent_continues_at_the_other() {
    for silent in [0, 1] {
        let Some((proxies, case)) = start("falls-silent", &ADDRESSES) else { return };
        // The holder can only connect to the address that is to fall silent.
        proxies[1 - silent].refuse_new(true);
        let holder = holder(&case);
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
    let Some((proxies, case)) = start("later-address", &ADDRESSES[..1]) else { return };
    proxies[0].refuse_new(true);
    let options = ["-vv", "--connect-timeout", "30"];
    let running = lock(&case, &options, &["echo", "ran"]).spawn();
    running.wait_for_line("no session with", DEADLINE);
    set_addresses(&case, &ADDRESSES[1..]);
    assert_eq!(running.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn a_holder_whose_addresses_all_change_continues_at_the_new_one() {
    let Some(([first, second], case)) = start("new-address", &ADDRESSES) else { return };
    let newest = Ipv4Addr::new(127, 0, 0, 3);
    let third = first.beside(newest, shared());
    let holder = holder(&case);
    set_addresses(&case, &[newest]);
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
    let Some((proxies, case)) = start("told-addresses", &ADDRESSES) else { return };
    proxies[0].blackhole();
    proxies[1].refuse_new(true);
    // Long enough to ask both.
    let output = lock(&case, &["--connect-timeout", "8"], &["true"]).run();
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
    let case = Case::on(&server, "tls-name").through(&format!("{NAME}:{port}"));
    set_addresses(&case, &ADDRESSES);
    let ca = keys.authority().display().to_string();
    let options = ["--tls-ca", &ca, "--connect-timeout", "8"];
    // The first address refuses the connection, because nothing listens there.
    let output = lock(&case, &options, &["echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    let by_address = Zklock::at(&format!("{}:{port}", ADDRESSES[1]), case.marker());
    let output = by_address.args(options).args([case.path(), "true"]).run();
    output.assert_code(125).assert_stderr("TLS: invalid peer certificate: certificate not valid for name");
    assert!(output.elapsed < Duration::from_secs(25), "{output}");
}
