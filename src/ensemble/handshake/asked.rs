//! Whether a server asked for the client's certificate: an alert alone doesn't tell whether it lacks one.

use std::sync::{Arc, OnceLock};

use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};

/// What a server got when it asked for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CertificateAnswer {
    /// There is none.
    None,
    /// There is one, but the server accepts no signature of its key, so it wasn't sent.
    Unsuitable,
    /// It was sent.
    Given,
}

/// The note of a handshake.
#[derive(Debug, Default)]
pub(super) struct Asked(OnceLock<CertificateAnswer>);

impl Asked {
    /// The same settings, with a note of what the server asks for.
    pub(super) fn noted_by(this: &Arc<Self>, config: &ClientConfig) -> ClientConfig {
        let mut config = config.clone();
        let certificates = Arc::clone(&config.client_auth_cert_resolver);
        config.client_auth_cert_resolver = Arc::new(Noting { certificates, note: Arc::clone(this) });
        config
    }

    /// What the server got; `None` if it didn't ask.
    pub(super) fn answer(&self) -> Option<CertificateAnswer> {
        self.0.get().copied()
    }
}

/// Provides certificates, and notes what it has provided.
#[derive(Debug)]
struct Noting {
    certificates: Arc<dyn ResolvesClientCert>,
    note: Arc<Asked>,
}

impl ResolvesClientCert for Noting {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let certificate = self.certificates.resolve(issuers, schemes);
        let answer = match &certificate {
            None => CertificateAnswer::None,
            Some(certificate) if certificate.key.choose_scheme(schemes).is_none() => {
                CertificateAnswer::Unsuitable
            }
            Some(_) => CertificateAnswer::Given,
        };
        // A server asks once.
        let _ = self.note.0.set(answer);
        certificate
    }

    fn has_certs(&self) -> bool {
        self.certificates.has_certs()
    }
}
