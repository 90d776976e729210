//! Certificates and keys that are replaced while zklock runs: their files are read again.
//!
//! The client library takes what it finds in [`TlsDynamicCerts`] for its next handshake.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zookeeper_client::{Error, TlsDynamicCerts};

use super::tls::{Ca, Identity, Tls};
use crate::runtime::files;

/// How often to look at the files. A new certificate is usually there long before the old one expires.
const INTERVAL: Duration = Duration::from_secs(10);

/// The same while there is no connection, perhaps for want of a certificate, and after files that can't be used.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);

/// The files that are read again. A pipe is none: what was in it is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    ca: Option<PathBuf>,
    /// The certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

impl Sources {
    /// From the options.
    pub fn new(ca: Option<&Path>, certificate: Option<&Path>, key: Option<&Path>) -> Self {
        let again = |file: Option<&Path>| {
            // The monitor has another working directory.
            std::path::absolute(file?).ok().filter(|file| file.is_file())
        };
        Self { ca: again(ca), identity: again(certificate).zip(again(key)) }
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.ca.iter().chain(self.identity.iter().flat_map(|(certificate, key)| [certificate, key]))
    }

    /// What changes when a file is replaced or rewritten.
    fn stamps(&self) -> Vec<Option<[i128; 6]>> {
        let stamp = |file: &PathBuf| {
            let of = fs::metadata(file).ok()?;
            let numbers = [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()].map(i128::from);
            let [mtime, mtime_nsec, ctime, ctime_nsec] = numbers;
            Some([of.ino().into(), of.size().into(), mtime, mtime_nsec, ctime, ctime_nsec])
        };
        self.files().map(stamp).collect()
    }

    /// `tls` with what is in the files now, or why that can't be used.
    fn read(&self, tls: &Tls) -> anyhow::Result<Tls> {
        let mut tls = tls.clone();
        if let Some(file) = &self.ca {
            let ca = Ca::new(file, files::read_public(file)?);
            tls.ca = ca.map_err(|bad| anyhow::anyhow!("{}: {bad}", file.display()))?;
        }
        if let Some((certificate, key)) = &self.identity {
            let identity = Identity::new(files::read_short(certificate)?, files::read_secret(key)?);
            let identity = identity.and_then(|identity| identity.in_time().map(|()| identity));
            let place = certificate.display();
            tls.identity = Some(identity.map_err(|bad| anyhow::anyhow!("{place}: {bad}"))?);
        }
        Ok(tls)
    }
}

/// What the connections of one session are made with. Looks at the files until it is dropped.
pub(in crate::runtime::zk) struct Rotation {
    certs: TlsDynamicCerts,
    connected: Sender<bool>,
}

impl Rotation {
    /// Begins with `tls`. `hosts` is for messages.
    pub(in crate::runtime::zk) fn begin(tls: &Tls, hosts: String) -> Result<Self, Error> {
        let certs = TlsDynamicCerts::new(tls.certs()?);
        let (connected, inbox) = channel();
        if tls.sources.files().next().is_some() {
            let follower = Follower { tls: tls.clone(), certs: certs.clone(), hosts };
            // A thread, because a file system can hang, and the session must not.
            let started =
                thread::Builder::new().name("certificates".to_owned()).spawn(move || follower.follow(&inbox));
            if let Err(error) = started {
                log::debug!("the certificates are not read again: {error}");
            }
        }
        Ok(Self { certs, connected })
    }

    pub(in crate::runtime::zk) fn certs(&self) -> TlsDynamicCerts {
        self.certs.clone()
    }

    /// The connection is there, or is lost: then a new one may need what the files have now.
    pub(in crate::runtime::zk) fn set_connected(&self, connected: bool) {
        // Refused if there is nothing to be read again.
        let _ = self.connected.send(connected);
    }
}

struct Follower {
    tls: Tls,
    certs: TlsDynamicCerts,
    hosts: String,
}

impl Follower {
    fn follow(mut self, inbox: &Receiver<bool>) {
        let mut connected = false;
        // Those of the last files that were taken. None at first: a long time may have passed since they were read.
        let mut stamps = None;
        let mut refused = RejectedFiles::default();
        loop {
            let now = self.tls.sources.stamps();
            if stamps.as_ref() != Some(&now) {
                match self.take(stamps.is_none()) {
                    Ok(()) => (stamps, refused) = (Some(now), RejectedFiles::default()),
                    Err(error) => refused.tell(&self.hosts, format!("{error:#}")),
                }
            }
            let interval =
                if connected && stamps.is_some() && refused.is_none() { INTERVAL } else { SHORT_INTERVAL };
            match inbox.recv_timeout(interval) {
                Ok(now) => connected = now,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// A long list of authorities isn't kept, so that only its file's stamp can say whether it is the same.
    fn take(&mut self, first: bool) -> anyhow::Result<()> {
        let tls = self.tls.sources.read(&self.tls)?;
        if tls != self.tls || (matches!(tls.ca, Ca::File(_)) && !first) {
            self.certs.update(tls.certs()?);
            log::info!("{}: the TLS files were read again, for the next connection", self.hosts);
            self.tls = tls;
        }
        Ok(())
    }
}

/// Why files weren't taken. It is told when it is still so at the second look: the files are replaced one by one.
#[derive(Default)]
struct RejectedFiles {
    why: Option<String>,
    told: bool,
}

impl RejectedFiles {
    fn is_none(&self) -> bool {
        self.why.is_none()
    }

    fn tell(&mut self, hosts: &str, why: String) {
        if self.why.as_ref() != Some(&why) {
            *self = Self { why: Some(why), told: false };
        } else if !self.told {
            self.told = true;
            log::warn!("{hosts}: the changed TLS files can't be used: {why}; the last good ones stay in use");
        }
    }
}
