//! TLS settings: CA certificates, and the client's certificate and key.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use thiserror::Error;
use zklock_core::hosts::Server;
use zookeeper_client::{Error, TlsCa, TlsCerts, TlsIdentity};

use super::rotation::TlsFiles;
use crate::files::open_to_read;

/// A longer CA bundle isn't kept in memory but read again when needed, because two processes would keep it.
const LONGEST: usize = 32 * 1024;

/// The TLS settings of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub(super) ca: Ca,
    pub(super) identity: Option<Identity>,
    pub(super) files: TlsFiles,
}

/// The CA certificates that a server's certificate is verified with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ca {
    /// The certificates in this PEM text.
    Pem(String),
    /// The certificates in this file, which is too long to be kept in memory.
    File(PathBuf),
}

/// The client's certificate and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, followed by the intermediate certificates.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// Why certificates or a key can't be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A CA file without a usable certificate.
    #[error(
        "there is no certificate in PEM form (-----BEGIN CERTIFICATE-----) in it that could be an authority's"
    )]
    NoAuthority,
    /// No CA certificates of the system were found.
    #[error("this system has no list of authorities that it trusts: name a file with --tls-ca")]
    NoSystem,
    /// A certificate file without a certificate.
    #[error("there is no certificate in PEM form (-----BEGIN CERTIFICATE-----) in it")]
    NoCertificate,
    /// A key file without a key.
    #[error("there is no private key in PEM form (-----BEGIN PRIVATE KEY-----) in it")]
    NoKey,
    /// A key that is protected by a password.
    #[error("the key in it is encrypted, and zklock can't ask for a password: decrypt it with openssl pkey")]
    EncryptedKey,
    /// A certificate and a key that can't be used together.
    #[error("the certificate and the key can't be used: {0}")]
    Unusable(rustls::Error),
    /// A certificate outside its period of validity.
    #[error("the certificate in it {0}")]
    Time(&'static str),
}

impl Ca {
    /// The CA certificates in `text`, which was read from `file`.
    pub fn new(file: &Path, text: String) -> Result<Self, TlsError> {
        roots(&text)?;
        Ok(match std::path::absolute(file) {
            Ok(file) if text.len() > LONGEST => Self::File(file),
            _ => Self::Pem(text),
        })
    }

    /// The CA certificates that this system trusts, or those of the variable `SSL_CERT_FILE`.
    pub fn system() -> Result<Self, TlsError> {
        let file = openssl_probe::probe().cert_file.ok_or(TlsError::NoSystem)?;
        let ca = Self::File(file);
        ca.text().ok().and_then(|text| roots(&text).ok()).ok_or(TlsError::NoSystem)?;
        Ok(ca)
    }

    fn text(&self) -> io::Result<String> {
        match self {
            Self::Pem(text) => Ok(text.clone()),
            Self::File(file) => read_lossy(file),
        }
    }
}

impl Identity {
    /// Checks that the certificate and the key can be parsed and belong together.
    pub fn new(certificate: String, key: String) -> Result<Self, TlsError> {
        let identity = Self { certificate, key };
        let (chain, key) = identity.read()?;
        let provider = ClientConfig::builder().crypto_provider().clone();
        rustls::sign::CertifiedKey::from_der(chain, key, &provider).map_err(TlsError::Unusable)?;
        Ok(identity)
    }

    /// Checks the certificate's period of validity by this host's clock.
    pub(super) fn check_validity(&self) -> Result<(), TlsError> {
        let (chain, _) = self.read()?;
        let Some(certificate) = chain.first() else { return Err(TlsError::NoCertificate) };
        // All other checks are up to the server.
        match problem_at(certificate, UnixTime::now()) {
            Some(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
                Err(TlsError::Time("has expired"))
            }
            Some(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
                Err(TlsError::Time("isn't valid yet"))
            }
            _ => Ok(()),
        }
    }

    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(TlsError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|_| {
            if self.key.contains("ENCRYPTED") { TlsError::EncryptedKey } else { TlsError::NoKey }
        })?;
        Ok((chain, key))
    }
}

impl Tls {
    /// The settings with these certificates, which were checked when they were read.
    pub fn new(ca: Ca, identity: Option<Identity>, files: TlsFiles) -> Self {
        Self { ca, identity, files }
    }

    /// Whether there is a client certificate.
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// When the client certificate ends, in seconds since 1970.
    pub fn identity_ends(&self) -> Option<u64> {
        let (chain, _) = self.identity.as_ref()?.read().ok()?;
        certificate_end(chain.first()?)
    }

    /// The settings in the client library's form.
    pub(super) fn certs(&self) -> Result<TlsCerts, Error> {
        let text = self.ca.text().map_err(|_| Error::BadArguments(&"the authorities can't be read"))?;
        let certs = TlsCerts::builder().with_ca(TlsCa::from_pem(&text)?);
        match &self.identity {
            Some(Identity { certificate, key }) => {
                certs.with_identity(TlsIdentity::from_pem(certificate, key)?).build()
            }
            None => certs.build(),
        }
    }

    /// The settings in rustls's form, for the handshake of a diagnosis.
    pub(in crate::ensemble) fn config(&self) -> Option<Arc<ClientConfig>> {
        let roots = roots(&self.ca.text().ok()?).ok()?;
        let config = ClientConfig::builder().with_root_certificates(roots);
        let config = match &self.identity {
            Some(identity) => {
                let (chain, key) = identity.read().ok()?;
                config.with_client_auth_cert(chain, key).ok()?
            }
            None => config.with_no_client_auth(),
        };
        Some(Arc::new(config))
    }
}

/// The server's name for the check of its certificate. `None` if the name can't appear in a certificate.
pub(in crate::ensemble) fn server_name(server: &Server) -> Option<ServerName<'static>> {
    ServerName::try_from(server.host.clone()).ok()
}

/// When a certificate ends, in seconds since 1970.
pub(in crate::ensemble) fn certificate_end(certificate: &CertificateDer<'_>) -> Option<u64> {
    let never = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX / 2));
    match problem_at(certificate, never)? {
        CertificateError::ExpiredContext { not_after, .. } => Some(not_after.as_secs()),
        _ => None,
    }
}

/// Why a certificate is invalid at that time. rustls doesn't expose a certificate's dates, but its verifier checks them
/// first, and its error contains them.
fn problem_at(certificate: &CertificateDer<'_>, time: UnixTime) -> Option<CertificateError> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone().into_owned()).ok()?;
    let name = ServerName::try_from("client").ok()?;
    let verifier = WebPkiServerVerifier::builder(Arc::new(roots)).build().ok()?;
    match verifier.verify_server_cert(certificate, &[], &name, &[], time) {
        Err(rustls::Error::InvalidCertificate(problem)) => Some(problem),
        _ => None,
    }
}

fn roots(pem: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).flatten() {
        // A bundle may contain certificates that rustls can't parse.
        let _ = roots.add(certificate);
    }
    if roots.is_empty() { Err(TlsError::NoAuthority) } else { Ok(roots) }
}

/// Reads a CA bundle. Some have comments that aren't UTF-8.
fn read_lossy(file: &Path) -> io::Result<String> {
    let mut bytes = vec![];
    open_to_read(file)?.0.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let identity = Identity { certificate: "public".to_owned(), key: "s3cret".to_owned() };
        let tls = Tls::new(Ca::Pem(String::new()), Some(identity), TlsFiles::default());
        let shown = format!("{tls:?} {tls:#?}");
        assert!(shown.contains("public") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn text_without_a_certificate_or_key_is_refused() {
        let none = Ca::new(Path::new("x"), "# nothing\n".to_owned());
        assert!(matches!(none, Err(TlsError::NoAuthority)), "{none:?}");
        let none = Identity::new("nothing".to_owned(), "nothing".to_owned());
        assert!(matches!(none, Err(TlsError::NoCertificate)), "{none:?}");
    }
}
