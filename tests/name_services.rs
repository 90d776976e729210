//! Names of users and hosts, looked up as `/etc/nsswitch.conf` says, by whatever services the host has; and the
//! libraries that zklock needs for that.

use crate::support::{
    Authority, Case, DEADLINE, Keys, Server, Zklock, end, has_namespaces, name_service, shared, try_rows,
    wait_until,
};
use nix::sys::signal::Signal;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::time::Duration;

/// A host name that is only in zklock's own `/etc/hosts`.
const IN_FILE: &str = "file.zklock.test";

/// A host name that only the service `zklock` knows.
const IN_MODULE: &str = "module.zklock.test";

const BIND: &str = "mount --bind /etc/nsswitch.conf /etc/nsswitch.conf && mount --bind /etc/hosts /etc/hosts";

/// zklock with these lines for `/etc/nsswitch.conf`, with [`IN_FILE`] in `/etc/hosts`, and with the service `zklock`.
fn with_services(case: &Case, zklock: Zklock, services: &str) -> Zklock {
    let dir = case.dir();
    fs::write(dir.join("nsswitch.conf"), services).expect("a configuration of name services");
    fs::write(dir.join("hosts"), format!("127.0.0.1 {IN_FILE}\n")).expect("a hosts file");
    name_service(dir);
    // Nobody is known there.
    fs::write(dir.join("passwd"), "").expect("a file of users");
    let mount = |file: &str| format!("mount --bind {}/{file} /etc/{file}", dir.display());
    let mounts = ["nsswitch.conf", "hosts", "passwd"].map(mount).join(" && ");
    zklock.with_own_mounts(&mounts).env("LD_LIBRARY_PATH", dir)
}

/// The user that a holder with these name services records, when it reaches the shared server by this host name.
fn recorded_user(name: &str, services: &str) -> String {
    let port = shared().connect_string().rsplit_once(':').expect("a port").1.to_owned();
    let case = Case::new("services").through(&format!("{name}:{port}"));
    let job = ["sh", "-c", "echo holding; exec sleep 60"];
    let holder = with_services(&case, case.lock(&["-v"], job), services).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    let record = case.observer().data(&node).expect("a record");
    let record: serde_json::Value = serde_json::from_slice(record.as_ref()).expect("JSON");
    end(holder);
    record["user"].as_str().expect("a user").to_owned()
}

/// Without an answer, the user's number is recorded.
#[test]
fn a_service_that_does_not_say_who_the_user_is_delays_nothing() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    let case = Case::new("users-hang");
    let start = |options: &[&str], command: &str| {
        let zklock = case.lock(&[&["-v"], options].concat(), ["sh", "-c", command]);
        let services = "passwd: zklock files\nhosts: files dns\n";
        with_services(&case, zklock, services).env("NSS_ZKLOCK_HANGS", "1").spawn()
    };
    let holder = start(&[], "echo holding; exec sleep 60");
    holder.wait_for_stdout("holding", DEADLINE);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    assert!(case.observer().data(&node).expect("a record").contains(r#""user":"0""#));
    for options in [["-n", "-q"], ["-w", "5"]] {
        let output = start(&options, "echo must not run").wait(DEADLINE);
        assert_eq!(output.assert_code(124).stdout, "");
    }
    // The connect request doesn't wait for the service, which gets half a second.
    let asks_at_once = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let running = start(&["-z", &address], "echo must not run");
        let (mut stream, _) = listener.accept().expect("zklock");
        stream.set_read_timeout(Some(Duration::from_millis(400))).expect("a socket");
        let is_asked = stream.read(&mut [0]).is_ok_and(|length| length == 1);
        running.signal(Signal::SIGTERM);
        running.wait(DEADLINE);
        is_asked
    };
    wait_until("a request before the service gives up", DEADLINE, asks_at_once);
    let waiter = start(&[], "echo must not run");
    waiter.wait_for_line(": position ", DEADLINE);
    waiter.signal(Signal::SIGINT);
    let output = waiter.wait(DEADLINE);
    output.assert_signal(Signal::SIGINT).assert_stderr("left the queue");
    end(holder);
}

/// A host name, and the services for users and for hosts. To add a row, add a line.
#[rustfmt::skip]
const ROWS: &[(&str, &str, &str)] = &[
    (IN_MODULE, "sss zklock files systemd", "files mdns4_minimal zklock resolve [!UNAVAIL=return] dns myhostname"),
    (IN_FILE,   "sss files zklock systemd", "mdns4_minimal [NOTFOUND=return] files dns"),
    (IN_FILE,   "files sss zklock systemd", "resolve [!UNAVAIL=return] files myhostname dns"),
    (IN_FILE,   "sss zklock files systemd", "files myhostname resolve [!UNAVAIL=return] dns"),
];

#[test]
fn names_that_only_a_service_of_the_host_knows_are_found_and_services_that_it_lacks_are_skipped() {
    if has_namespaces("--mount", BIND) {
        try_rows(ROWS.iter().copied(), |(name, users, hosts)| {
            assert_eq!(recorded_user(name, &format!("passwd: {users}\nhosts: {hosts}\n")), "module-user");
        });
    }
}

/// With TLS, the client library looks the name up itself.
#[test]
fn names_that_only_a_service_of_the_host_knows_are_found_with_tls() {
    if !has_namespaces("--mount", BIND) {
        return;
    }
    let authority = Authority::new("authority");
    let keys = Keys::new(&authority.sign("server", &[IN_MODULE]), &authority, "none");
    let server = Server::builder().tls(&keys).start();
    let case = Case::on(&server, "tls-service").through(&format!("{IN_MODULE}:{}", server.secure_port()));
    let ca = keys.authority().display().to_string();
    let zklock = case.lock(&["--tls-ca", &ca], ["echo", "ran"]);
    let output = with_services(&case, zklock, "passwd: files\nhosts: zklock files dns\n").run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

/// Each further library costs hundredths of a run (docs/decisions.md, 5). Kerberos needs some all the same.
#[cfg(not(feature = "gssapi"))]
#[test]
fn zklock_needs_no_library_besides_the_c_library() {
    let mut zklock = std::process::Command::new(env!("CARGO_BIN_EXE_zklock"));
    // The dynamic linker then prints the libraries instead of starting the program.
    let output = zklock.arg("--version").env("LD_TRACE_LOADED_OBJECTS", "1").output().expect("zklock");
    let text = String::from_utf8(output.stdout).expect("text");
    let is_expected = |line: &&str| {
        let name = line.trim().rsplit('/').next().unwrap_or_default();
        let first = line.split_whitespace().next().unwrap_or_default();
        first.starts_with("linux-vdso") || first == "libc.so.6" || name.starts_with("ld-linux")
    };
    let others: Vec<&str> = text.lines().filter(|line| !is_expected(line)).collect();
    assert!(others.is_empty(), "{text}");
}
