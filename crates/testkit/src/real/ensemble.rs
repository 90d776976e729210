//! An ensemble of three servers.

use super::keys::Keys;
use super::ports;
use super::server::Server;
use super::server_builder::ServerBuilder;
use super::wait::{DEADLINE, wait_for};

/// The settings with which an ensemble will be started.
pub struct EnsembleBuilder {
    member: ServerBuilder,
    init_limit: u32,
    sync_limit: u32,
}

impl EnsembleBuilder {
    /// The servers' tick time. The default is 200 ms.
    pub fn tick_ms(mut self, tick_ms: u32) -> Self {
        self.member = self.member.tick_ms(tick_ms);
        self
    }

    /// How many ticks a follower may take to connect to a leader. The default is 20.
    pub fn init_limit(mut self, ticks: u32) -> Self {
        self.init_limit = ticks;
        self
    }

    /// How many ticks of silence end the connection between leader and follower. The default is 5.
    pub fn sync_limit(mut self, ticks: u32) -> Self {
        self.sync_limit = ticks;
        self
    }

    /// One more line of every member's `zoo.cfg`.
    pub fn config(mut self, line: &str) -> Self {
        self.member = self.member.config(line);
        self
    }

    /// One more option of every JVM.
    pub fn java_option(mut self, option: &str) -> Self {
        self.member = self.member.java_option(option);
        self
    }

    /// A second port for each member, for TLS with these keys.
    pub fn tls(mut self, keys: &Keys) -> Self {
        self.member = self.member.tls(keys);
        self
    }

    /// Starts three servers and waits until all of them serve clients.
    pub fn start(self) -> Ensemble {
        let mut member = self
            .member
            .config(&format!("initLimit={}", self.init_limit))
            .config(&format!("syncLimit={}", self.sync_limit));
        for id in 1..=3 {
            let (quorum, election) = (ports::free(), ports::free());
            member = member.config(&format!("server.{id}=127.0.0.1:{quorum}:{election}"));
        }
        // All servers are launched before the first wait, because none serves clients before two are running.
        let members: Vec<_> = (1..=3).map(|id| member.clone().id(id).launch()).collect();
        members.iter().for_each(Server::wait_ready);
        Ensemble { members, another: member }
    }
}

/// A running ensemble.
pub struct Ensemble {
    members: Vec<Server>,
    another: ServerBuilder,
}

impl Ensemble {
    /// Three servers with ticks of 200 ms, initLimit 20 and syncLimit 5.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// An ensemble with other settings.
    pub fn builder() -> EnsembleBuilder {
        EnsembleBuilder { member: Server::builder(), init_limit: 20, sync_limit: 5 }
    }

    /// All members, including frozen and killed ones.
    pub fn members(&self) -> &[Server] {
        &self.members
    }

    /// The value of `-z` with all members.
    pub fn connect_string(&self) -> String {
        let hosts: Vec<_> = self.members.iter().map(Server::connect_string).collect();
        hosts.join(",")
    }

    /// The value of `-z` with all members when `--tls` is used.
    pub fn secure_connect_string(&self) -> String {
        let hosts: Vec<_> = self.members.iter().map(Server::secure_connect_string).collect();
        hosts.join(",")
    }

    /// The leader. During an election, this waits for the result. A frozen leader doesn't count.
    pub fn leader(&self) -> &Server {
        wait_for("a leader", DEADLINE, || self.in_mode("leader").pop())
    }

    /// The followers. This waits until there is at least one.
    pub fn followers(&self) -> Vec<&Server> {
        wait_for("followers", DEADLINE, || Some(self.in_mode("follower")).filter(|found| !found.is_empty()))
    }

    /// Launches a server that isn't a member yet, and returns its specification for [`Ensemble::reconfigure`].
    pub fn launch_another(&mut self) -> String {
        let id = self.members.len() + 1;
        let address = format!("server.{id}=127.0.0.1:{}:{}", ports::free(), ports::free());
        let server = self.another.clone().config(&address).id(id).launch();
        let specification = format!("{address}:participant;{}", server.connect_string());
        self.members.push(server);
        specification
    }

    /// Changes the members by the command line of `ZooKeeper`. It is repeated until it succeeds, because a server that
    /// joins has to catch up first.
    pub fn reconfigure(&self, change: &[&str]) {
        wait_for("other members", DEADLINE, || {
            let output = super::jvm::command_line(&self.connect_string(), &[&["reconfig"], change].concat());
            output.contains("Committed new configuration").then_some(())
        });
    }

    fn in_mode(&self, mode: &str) -> Vec<&Server> {
        self.members.iter().filter(|member| member.mode().as_deref() == Some(mode)).collect()
    }
}
