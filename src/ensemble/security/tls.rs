//! TLS settings: CA certificates, and the client's certificate and key. Their files are read again for each connection.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io, mem};

use anyhow::{Context, Result, anyhow, bail};
use async_io::Timer;
use futures::channel::oneshot::Receiver;
use futures::future::{Either, select};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use zklock_core::hosts::Server;
use zookeeper_client::{TlsCa, TlsCerts, TlsIdentity};

use super::in_background;
use crate::files;
use crate::process::system_error::explain;

/// The TLS settings of a session.
#[derive(Clone)]
pub struct Tls {
    /// `None` if one of them is a pipe, which can be read only once.
    files: Option<TlsFiles>,
    /// Whether there is a client certificate.
    has_identity: bool,
    /// For the client library.
    certs: Arc<TlsCerts>,
    /// For the handshake of a diagnosis.
    config: Arc<ClientConfig>,
}

/// Where the certificates are.
#[derive(Debug, Clone)]
struct TlsFiles {
    ca: PathBuf,
    /// The client's certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// Reads the CA certificates, and the client's certificate and key. Without `ca` they are those that this system trusts,
    /// or those of the variable `SSL_CERT_FILE`.
    ///
    /// # Errors
    /// If a file can't be read or used, with its option.
    pub fn new(ca: Option<&Path>, identity: Option<(&Path, &Path)>) -> Result<Self> {
        let system = || openssl_probe::probe().cert_file;
        let ca = ca.map(Path::to_owned).or_else(system);
        let ca =
            ca.context("this system has no list of authorities that it trusts: name a file with --tls-ca")?;
        // Absolute, because zklock changes its working directory when it lets go of its caller.
        let pair = |(certificate, key)| Ok::<_, io::Error>((absolute(certificate)?, absolute(key)?));
        let files = TlsFiles { ca: absolute(ca)?, identity: identity.map(pair).transpose()? };
        let tls = Self::read(&files)?;
        Ok(Self { files: Some(files).filter(TlsFiles::are_regular), ..tls })
    }

    fn read(files: &TlsFiles) -> Result<Self> {
        let (roots, certs) = authorities(&files.ca).context("--tls-ca")?;
        let certs = TlsCerts::builder().with_ca(certs);
        let config = ClientConfig::builder().with_root_certificates(roots);
        let Some((certificate, key)) = &files.identity else {
            let (certs, config) = (Arc::new(certs.build()?), Arc::new(config.with_no_client_auth()));
            return Ok(Self { files: None, has_identity: false, certs, config });
        };
        let chain_text = files::read_short(certificate).context("--tls-cert")?;
        let key_text = files::read_secret(key).context("--tls-key")?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain_text.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
            let place = certificate.display();
            anyhow!(
                "--tls-cert: {place}: there is no certificate in PEM form (-----BEGIN CERTIFICATE-----) in it"
            )
        })?;
        let parsed = PrivateKeyDer::from_pem_slice(key_text.as_bytes()).map_err(|_| {
            let why = if key_text.contains("ENCRYPTED") {
                "the key in it is encrypted, and zklock can't ask for a password: decrypt it with openssl pkey"
            } else {
                "there is no private key in PEM form (-----BEGIN PRIVATE KEY-----) in it"
            };
            anyhow!("--tls-key: {}: {why}", key.display())
        })?;
        let config = config.with_client_auth_cert(chain, parsed).with_context(|| {
            let (certificate, key) = (certificate.display(), key.display());
            format!("--tls-cert: {certificate}, and --tls-key: {key}: they can't be used together")
        })?;
        let certs = certs.with_identity(TlsIdentity::from_pem(&chain_text, &key_text)?).build()?;
        Ok(Self { files: None, has_identity: true, certs: Arc::new(certs), config: Arc::new(config) })
    }

    /// The settings with the current content of the files.
    pub(in crate::ensemble) fn read_again(&self) -> Result<Self> {
        let Some(files) = &self.files else { return Ok(self.clone()) };
        Ok(Self { files: self.files.clone(), ..Self::read(files)? })
    }

    /// Whether there is a client certificate.
    pub fn has_identity(&self) -> bool {
        self.has_identity
    }

    /// The settings in the client library's form.
    pub(super) fn certs(&self) -> TlsCerts {
        TlsCerts::clone(&self.certs)
    }

    /// The settings in rustls's form, for the handshake of a diagnosis.
    pub(in crate::ensemble) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }
}
/// The server's name for the check of its certificate. `None` if the name can't appear in a certificate.
pub(in crate::ensemble) fn server_name(server: &Server) -> Option<ServerName<'static>> {
    ServerName::try_from(server.host.clone()).ok()
}

/// The CA certificates in this file, for rustls and for the client library.
fn authorities(file: &Path) -> Result<(RootCertStore, TlsCa)> {
    let pem = files::read_public(file)?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).flatten() {
        // A bundle may contain certificates that rustls can't parse.
        let _ = roots.add(certificate);
    }
    if roots.is_empty() {
        let place = file.display();
        bail!(
            "{place}: there is no certificate in PEM form (-----BEGIN CERTIFICATE-----) in it that could be an authority's"
        );
    }
    Ok((roots, TlsCa::from_pem(&pem)?))
}

impl TlsFiles {
    fn are_regular(&self) -> bool {
        self.ca.is_file()
            && self.identity.iter().all(|(certificate, key)| certificate.is_file() && key.is_file())
    }
}

impl fmt::Debug for Tls {
    /// Leaves out the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The TLS settings of a session, read again for each connection.
pub(in crate::ensemble) struct Rereading {
    /// The last good ones.
    pub(in crate::ensemble) tls: Tls,
    /// A reading that takes long.
    pending: Option<Receiver<Result<Tls>>>,
    is_warned: bool,
}

impl Rereading {
    pub(in crate::ensemble) fn new(tls: &Tls) -> Self {
        Self { tls: tls.clone(), pending: None, is_warned: false }
    }

    /// Reads the files again. The last good ones stay in use if they can't be used or reading them takes longer than
    /// `limit`. `place` is for messages.
    pub(in crate::ensemble) async fn update(&mut self, place: &impl fmt::Display, limit: Duration) {
        let tls = self.tls.clone();
        // On another thread, because a file system can hang, and the session must not.
        let reading = || in_background(move || tls.read_again());
        let mut pending = self.pending.take().unwrap_or_else(reading);
        match select(&mut pending, Timer::after(limit)).await {
            Either::Left((Ok(Ok(tls)), _)) => (self.tls, self.is_warned) = (tls, false),
            Either::Left((Ok(Err(error)), _)) if !mem::replace(&mut self.is_warned, true) => {
                let why = explain(&error);
                log::warn!("{place}: the TLS files can't be used: {why}; the last good ones stay in use");
            }
            Either::Left(_) => {}
            Either::Right(_) => self.pending = Some(pending),
        }
    }
}
