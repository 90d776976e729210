//! The programs that are measured: each runs a command under a lock, or without one.

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitStatus, Stdio};

use crate::environment::{Environment, Servers};
use crate::wire;

/// A way to run a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contestant {
    /// Fork and exec, and nothing else.
    Plain,
    /// flock(1) of util-linux.
    Flock,
    /// `etcdctl lock`.
    Etcd,
    /// A script with kazoo's `Lock`.
    Kazoo(Servers),
    /// A program with Curator's `InterProcessMutex`.
    Curator(Servers),
    /// The floor: zklock's client library and requests without the rest of zklock.
    Floor(Servers),
    /// zklock.
    Zklock(Servers),
    /// The build of zklock before a change, to measure the change.
    Before(Servers),
}

/// A new lock.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    /// The path in `ZooKeeper`, the file, or the key.
    pub(crate) name: String,
}

impl Contestant {
    /// The name in the tables.
    pub(crate) fn name(self) -> String {
        let (name, servers) = match self {
            Self::Plain => ("fork and exec", None),
            Self::Flock => ("flock", None),
            Self::Etcd => ("etcdctl lock", Some(Servers::One)),
            Self::Kazoo(servers) => ("kazoo script", Some(servers)),
            Self::Curator(servers) => ("Curator program", Some(servers)),
            Self::Floor(servers) => ("floor", Some(servers)),
            Self::Zklock(servers) => ("**zklock**", Some(servers)),
            Self::Before(servers) => ("build before", Some(servers)),
        };
        match servers {
            None => name.to_owned(),
            Some(Servers::One) => format!("{name}, 1 server"),
            Some(Servers::Three) => format!("{name}, 3 servers"),
        }
    }

    /// The program of a build of zklock.
    pub(crate) fn zklock(self, environment: &Environment) -> &str {
        match self {
            Self::Before(_) => environment.before.as_deref().expect("the build before"),
            _ => &environment.zklock,
        }
    }

    /// The available builds of zklock.
    pub(crate) fn builds(environment: &Environment, servers: Servers) -> Vec<Self> {
        let mut builds = vec![Self::Zklock(servers), Self::Before(servers)];
        builds.retain(|build| build.is_available(environment));
        builds
    }

    /// The ZooKeeper servers that it uses, if any.
    pub(crate) fn servers(self) -> Option<Servers> {
        match self {
            Self::Kazoo(servers)
            | Self::Curator(servers)
            | Self::Floor(servers)
            | Self::Zklock(servers)
            | Self::Before(servers) => Some(servers),
            Self::Plain | Self::Flock | Self::Etcd => None,
        }
    }

    /// Whether everything that it needs is available.
    pub(crate) fn is_available(self, environment: &Environment) -> bool {
        match self {
            Self::Etcd => environment.etcd.is_some(),
            Self::Kazoo(_) => environment.python.is_some(),
            Self::Curator(_) => environment.curator.is_some(),
            Self::Before(_) => environment.before.is_some(),
            _ => true,
        }
    }

    /// A new lock. Its parent is created here, so that no contestant's time includes that.
    pub(crate) fn new_lock(self, environment: &Environment) -> Lock {
        let name = environment.new_name();
        match self.servers() {
            Some(servers) => {
                let name = format!("/{name}");
                wire::make(environment.hosts(servers), &name);
                Lock { name }
            }
            None if self == Self::Flock => Lock { name: environment.dir.join(name).display().to_string() },
            None => Lock { name },
        }
    }

    /// Ends the measurement, with the last messages of all, if a contender of this kind has failed.
    pub(crate) fn must_succeed(self, environment: &Environment, status: ExitStatus) {
        assert!(status.success(), "{} ended with {status}:\n{}", self.name(), environment.last_errors());
    }

    /// The call that runs `job` under `lock`. Its messages go to a file, since a terminal would take time.
    pub(crate) fn command(self, environment: &Environment, lock: &Lock, job: &[OsString]) -> Command {
        let mut words: Vec<OsString> = match self {
            Self::Plain => vec![],
            Self::Flock => vec!["flock".into(), (&lock.name).into()],
            Self::Etcd => {
                let endpoint = environment.etcd.as_deref().expect("etcd");
                ["etcdctl", "--endpoints", endpoint, "lock", &lock.name].map(OsString::from).into()
            }
            Self::Kazoo(servers) => {
                let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/kazoo_lock.py");
                let python = environment.python.as_ref().expect("kazoo");
                vec![python.into(), script.into(), environment.hosts(servers).into(), (&lock.name).into()]
            }
            Self::Curator(servers) => {
                let options = "-Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData";
                let mut words = vec!["java".into()];
                words.extend(options.split(' ').map(OsString::from));
                words.extend(["-cp", environment.curator.as_deref().expect("Curator")].map(OsString::from));
                words.extend(["CuratorLock", environment.hosts(servers), &lock.name].map(OsString::from));
                words
            }
            Self::Floor(servers) => {
                let own = env::current_exe().expect("the path of this program");
                vec![own.into(), "floor".into(), environment.hosts(servers).into(), (&lock.name).into()]
            }
            Self::Zklock(servers) | Self::Before(servers) => {
                [self.zklock(environment), "-z", environment.hosts(servers), &lock.name, "--"]
                    .map(OsString::from)
                    .into()
            }
        };
        words.extend_from_slice(job);
        let (program, arguments) = words.split_first().expect("a command");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(environment.errors());
        command.env_remove("ZKLOCK_ZOOKEEPER").env("ETCDCTL_API", "3");
        command
    }
}
