//! Reads TLS files again when certificates and keys are replaced while zklock runs.
//!
//! The client library uses the current content of [`TlsDynamicCerts`] for its next handshake.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use zookeeper_client::{Error, TlsDynamicCerts};

use super::tls::{Ca, Identity, Tls};
use crate::files;
use crate::process::system_error::explain;
use crate::process::thread;

/// How often to check the files. A new certificate is usually installed long before the old one expires.
const INTERVAL: Duration = Duration::from_secs(10);

/// How often to check them while there is no connection, perhaps because the certificate has expired, and after files
/// that couldn't be used.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);

/// The files that are read again. A pipe isn't one of them, because it can be read only once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    ca: Option<PathBuf>,
    /// The certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

impl TlsFiles {
    /// The files named by the options.
    pub fn new(ca: Option<&Path>, certificate: Option<&Path>, key: Option<&Path>) -> Self {
        let regular = |file: Option<&Path>| {
            // Absolute, because zklock changes its working directory when it lets go of its caller.
            std::path::absolute(file?).ok().filter(|file| file.is_file())
        };
        Self { ca: regular(ca), identity: regular(certificate).zip(regular(key)) }
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.ca.iter().chain(self.identity.iter().flat_map(|(certificate, key)| [certificate, key]))
    }

    /// Numbers of each file that change when it is replaced or rewritten.
    fn stamps(&self) -> Vec<Option<[i128; 6]>> {
        let stamp = |file: &PathBuf| {
            let of = fs::metadata(file).ok()?;
            let numbers = [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()].map(i128::from);
            let [mtime, mtime_nsec, ctime, ctime_nsec] = numbers;
            Some([of.ino().into(), of.size().into(), mtime, mtime_nsec, ctime, ctime_nsec])
        };
        self.paths().map(stamp).collect()
    }

    /// `tls` with the current content of the files.
    fn read(&self, tls: &Tls) -> anyhow::Result<Tls> {
        let mut tls = tls.clone();
        if let Some(file) = &self.ca {
            let ca = Ca::new(file, files::read_public(file)?);
            tls.ca = ca.map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
        }
        if let Some((certificate, key)) = &self.identity {
            let identity = Identity::new(files::read_short(certificate)?, files::read_secret(key)?);
            let identity = identity.and_then(|identity| identity.check_validity().map(|()| identity));
            let place = certificate.display();
            tls.identity = Some(identity.map_err(|error| anyhow::anyhow!("{place}: {error}"))?);
        }
        Ok(tls)
    }
}

/// The certificates for the connections of one session. Checks the files until it is dropped.
pub(in crate::ensemble) struct Rotation {
    certs: TlsDynamicCerts,
    connected: Sender<bool>,
}

impl Rotation {
    /// Starts with the certificates of `tls`. `hosts` is for messages.
    pub(in crate::ensemble) fn begin(tls: &Tls, hosts: String) -> Result<Self, Error> {
        let certs = TlsDynamicCerts::new(tls.certs()?);
        let (connected, inbox) = channel();
        if tls.files.paths().next().is_some() {
            let reloader = Reloader { tls: tls.clone(), certs: certs.clone(), hosts };
            // In a separate thread, because a file system can hang, and the session must not.
            let started =
                thread::builder().name("certificates".to_owned()).spawn(move || reloader.run(&inbox));
            if let Err(error) = started {
                log::debug!("the certificates are not read again: {error}");
            }
        }
        Ok(Self { certs, connected })
    }

    pub(in crate::ensemble) fn certs(&self) -> TlsDynamicCerts {
        self.certs.clone()
    }

    /// Sets whether there is a connection. Without one the files are checked more often.
    pub(in crate::ensemble) fn set_connected(&self, connected: bool) {
        // Fails if there are no files to read again.
        let _ = self.connected.send(connected);
    }
}

struct Reloader {
    tls: Tls,
    certs: TlsDynamicCerts,
    hosts: String,
}

impl Reloader {
    fn run(mut self, inbox: &Receiver<bool>) {
        let mut connected = false;
        // The stamps of the files in use. None at first, because the files may have changed since they were read.
        let mut stamps = None;
        let mut rejected = RejectedFiles::default();
        loop {
            let now = self.tls.files.stamps();
            if stamps.as_ref() != Some(&now) {
                match self.reload(stamps.is_none()) {
                    Ok(()) => (stamps, rejected) = (Some(now), RejectedFiles::default()),
                    Err(error) => rejected.report(&self.hosts, explain(&error)),
                }
            }
            let interval =
                if connected && stamps.is_some() && rejected.is_none() { INTERVAL } else { SHORT_INTERVAL };
            match inbox.recv_timeout(interval) {
                Ok(now) => connected = now,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Reads the files, and uses them if they differ. A long list of CA certificates isn't kept in memory and can't be
    /// compared, so it counts as different unless this is the `first` time.
    fn reload(&mut self, first: bool) -> anyhow::Result<()> {
        let tls = self.tls.files.read(&self.tls)?;
        if tls != self.tls || (matches!(tls.ca, Ca::File(_)) && !first) {
            self.certs.update(tls.certs()?);
            log::info!("{}: the TLS files were read again, for the next connection", self.hosts);
            self.tls = tls;
        }
        Ok(())
    }
}

/// Why the changed files aren't used. Reported only if the reason is the same at the next check, because files are
/// replaced one by one.
#[derive(Default)]
struct RejectedFiles {
    why: Option<String>,
    is_reported: bool,
}

impl RejectedFiles {
    fn is_none(&self) -> bool {
        self.why.is_none()
    }

    fn report(&mut self, hosts: &str, why: String) {
        if self.why.as_ref() != Some(&why) {
            *self = Self { why: Some(why), is_reported: false };
        } else if !self.is_reported {
            self.is_reported = true;
            log::warn!("{hosts}: the changed TLS files can't be used: {why}; the last good ones stay in use");
        }
    }
}
