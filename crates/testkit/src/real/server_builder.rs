//! The settings of a server.

use super::jvm::Launch;
use super::keys::Keys;
use super::machine::Machine;
use super::ports;
use super::server::{DATA, Server};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The settings with which a server will be started.
#[derive(Clone)]
pub struct ServerBuilder {
    tick_ms: u32,
    port: Option<u16>,
    lines: Vec<String>,
    java_options: Vec<String>,
    id: Option<usize>,
    /// The address of the TLS port, if there is one.
    secure: Option<IpAddr>,
    home: Option<PathBuf>,
    machine: Machine,
}

impl ServerBuilder {
    pub(super) fn new() -> Self {
        Self {
            tick_ms: 200,
            port: None,
            lines: Vec::new(),
            java_options: Vec::new(),
            id: None,
            secure: None,
            home: None,
            machine: Machine::this(),
        }
    }

    /// The server's tick time. The default is 200 ms. The shortest session timeout is 2 ticks.
    pub fn tick_ms(mut self, tick_ms: u32) -> Self {
        self.tick_ms = tick_ms;
        self
    }

    /// A fixed port, instead of any free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// One more line of `zoo.cfg`, which may override a line that the builder writes.
    pub fn config(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// One more option of the JVM, such as `-Dznode.container.checkIntervalMs=200`.
    pub fn java_option(mut self, option: &str) -> Self {
        self.java_options.push(option.to_owned());
        self
    }

    /// A second port, for TLS with these keys.
    pub fn tls(self, keys: &Keys) -> Self {
        self.tls_at([127, 0, 0, 1], keys)
    }

    /// Like [`ServerBuilder::tls`], but the TLS port is at another address of this host.
    pub fn tls_at(mut self, address: [u8; 4], keys: &Keys) -> Self {
        self.secure = Some(address.into());
        let netty = "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory";
        keys.server_config().into_iter().chain([netty.to_owned()]).fold(self, |this, line| this.config(&line))
    }

    /// Uses an unpacked release of another version.
    pub fn release(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    /// The member's number in an ensemble.
    pub fn id(mut self, id: usize) -> Self {
        self.id = Some(id);
        self
    }

    /// Runs the server on another machine.
    pub fn machine(mut self, machine: &Machine) -> Self {
        self.machine = machine.clone();
        self
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> Server {
        let attempts = if self.port.is_some() { 1 } else { 3 };
        for _ in 1..attempts {
            let server = self.clone().launch();
            if server.becomes_ready() {
                return server;
            }
            // Most likely another process took the port after it was chosen and before the server bound it.
        }
        let server = self.launch();
        server.wait_ready();
        server
    }

    /// Starts the server without waiting for it.
    pub fn launch(self) -> Server {
        let dir =
            tempfile::Builder::new().prefix("zklock-server-").tempdir().expect("a directory for the server");
        let port = self.port.unwrap_or_else(ports::free);
        let data = dir.path().join(DATA);
        fs::create_dir(&data).expect("the data directory");
        if let Some(id) = self.id {
            fs::write(data.join("myid"), id.to_string()).expect("myid");
        }
        let config = format!(
            "tickTime={}\ndataDir={}\nclientPort={port}\nclientPortAddress={}\n\
             4lw.commands.whitelist=*\nadmin.enableServer=false\n\
             maxClientCnxns=0\nmaxSessionTimeout=60000\n{}\n",
            self.tick_ms,
            data.display(),
            self.machine.address,
            self.lines.join("\n"),
        );
        let secure = self.secure.map(|address| SocketAddr::new(address, ports::free()));
        // The TLS lines come first, so that a line that the test adds overrides them.
        let lines = secure.map(|at| {
            format!("secureClientPort={}\nsecureClientPortAddress={}\n{config}", at.port(), at.ip())
        });
        fs::write(dir.path().join("zoo.cfg"), lines.unwrap_or(config)).expect("zoo.cfg");
        let address = SocketAddr::from((self.machine.address, port));
        let launch = Launch { words: self.machine.words, home: self.home, options: self.java_options };
        Server::launched(dir, address, secure, launch)
    }
}
