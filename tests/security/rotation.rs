//! Certificates that are replaced while a command runs.

use crate::support::{
    Authority, Case, DEADLINE, Identity, Keys, Proxy, Running, Server, end_holder, wait_until,
};
use nix::sys::signal::Signal;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Long enough for zklock to start with it.
const SHORT_LIVED: Duration = Duration::from_secs(10);

/// A server that requires client certificates, a proxy in front of it that can cut connections, and zklock's files.
struct Site {
    authority: Authority,
    keys: Keys,
    proxy: Proxy,
    server: Server,
}

impl Site {
    fn new() -> Self {
        let authority = Authority::new("authority");
        let keys = Keys::new(&authority.sign("server", &["127.0.0.1"]), &authority, "need");
        let server = Server::builder().tls(&keys).start();
        let proxy = Proxy::between_servers(server.secure_port());
        Self { authority, keys, proxy, server }
    }

    fn case(&self, name: &str) -> Case {
        let case = Case::on(&self.server, name).through(&self.proxy.connect_string());
        case.observer().mkdirs("/t");
        case
    }

    /// Replaces the files atomically, as `cert-manager` and `mv` do. The key comes first.
    fn install(&self, identity: &Identity) -> [PathBuf; 2] {
        ["client.key", "client.pem"].map(|name| {
            let text = if name == "client.key" { &identity.key } else { &identity.certificate };
            let new = self.keys.file(&format!("{name}.new"), text);
            let file = new.with_extension("");
            fs::rename(new, &file).expect("a new file in place of the old one");
            file
        })
    }

    /// Starts a holder with these files, and returns when its command runs.
    #[track_caller]
    fn holder(&self, case: &Case, [key, certificate]: &[PathBuf; 2]) -> Running {
        let files = [("--tls-ca", &self.keys.authority()), ("--tls-key", key), ("--tls-cert", certificate)];
        let options = files.map(|(name, file)| [name.to_owned(), file.display().to_string()]);
        let hold = ["-v", "--acl", "open", case.path(), "--", "sh", "-c", "echo holding; exec sleep 60"];
        let holder = case.zklock().args(options.concat()).args(hold).spawn();
        holder.wait_for_stdout("holding", DEADLINE);
        holder
    }

    /// Cuts the holder's connection, and waits for the next one.
    #[track_caller]
    fn reconnect(&self, holder: &Running) {
        let before = holder.stderr().count("connected again");
        self.proxy.cut_all();
        wait_until("a new connection", DEADLINE, || holder.stderr().count("connected again") > before);
    }
}

#[test]
fn a_new_certificate_during_a_lost_connection_is_used() {
    let site = Site::new();
    let case = site.case("late-rotation");
    let expiry = SystemTime::now() + SHORT_LIVED;
    let files = site.install(&site.authority.sign_until("client", &[], expiry));
    let holder = site.holder(&case, &files);
    let over = || SystemTime::now() > expiry + Duration::from_secs(1);
    wait_until("the end of the old certificate", DEADLINE, over);
    site.proxy.cut_all();
    holder.wait_for_line("connection lost", DEADLINE);
    site.install(&site.authority.sign("client", &[]));
    holder.wait_for_line("connected again", DEADLINE);
    end_holder(holder);
}

#[test]
fn unusable_new_tls_files_are_reported_once_and_the_last_good_ones_stay_in_use() {
    let site = Site::new();
    let case = site.case("bad-rotation");
    let good = site.authority.sign("client", &[]);
    let files = site.install(&good);
    let holder = site.holder(&case, &files);
    let other = site.authority.sign("client", &[]);
    site.install(&Identity { key: other.key, ..site.authority.sign("client", &[]) });
    site.reconnect(&holder);
    site.install(&Identity { certificate: String::new(), ..site.authority.sign("client", &[]) });
    site.reconnect(&holder);
    let warnings = || holder.stderr().count("the TLS files can't be used: --tls-");
    assert_eq!(warnings(), 1, "{}", holder.stderr().text());
    site.install(&good);
    site.reconnect(&holder);
    fs::remove_file(&files[0]).expect("a key");
    site.reconnect(&holder);
    holder.wait_for_line("can't read", DEADLINE);
    assert_eq!(warnings(), 2, "{}", holder.stderr().text());
    end_holder(holder);
}

/// The worker's working directory is another one then.
#[test]
fn a_node_that_could_not_be_deleted_in_time_is_deleted_later_with_a_relative_system_file() {
    let site = Site::new();
    let case = site.case("relative-system-file");
    let ca = site.keys.authority();
    let [key, certificate] =
        site.install(&site.authority.sign("client", &[])).map(|file| file.display().to_string());
    let zklock = case
        .zklock()
        .dir(ca.parent().expect("its directory"))
        .env("SSL_CERT_FILE", ca.file_name().expect("a name"));
    let hold = ["--acl", "open", case.path(), "--", "sh", "-c", "echo $ZKLOCK_NODE; exec sleep 60"];
    let holder = zklock.args(["--tls-cert", &certificate, "--tls-key", &key]).args(hold).spawn();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    site.proxy.refuse_new(true);
    site.proxy.cut_all();
    holder.signal(Signal::SIGTERM);
    let output = holder.wait(DEADLINE);
    assert!(case.observer().exists(&node), "{output}");
    site.proxy.refuse_new(false);
    // Its session would last for 30 s.
    wait_until("the node to be deleted", Duration::from_secs(15), || !case.observer().exists(&node));
}
