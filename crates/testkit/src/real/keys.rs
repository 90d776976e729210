//! Certificates and keys in files, in the form that servers and clients read.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::TempDir;

/// A certificate authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new authority, which nothing trusts yet.
    pub fn new(name: &str) -> Self {
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// Its certificate, in PEM.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this name and these hosts.
    pub fn sign(&self, name: &str, hosts: &[&str]) -> Identity {
        self.signed(&params(hosts, name))
    }

    /// Like [`Authority::sign`], but the certificate expired in 2020.
    pub fn sign_expired(&self, name: &str, hosts: &[&str]) -> Identity {
        let mut params = params(hosts, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 1);
        self.signed(&params)
    }

    /// Like [`Authority::sign`], but the certificate expires at `end`.
    pub fn sign_until(&self, name: &str, hosts: &[&str], end: SystemTime) -> Identity {
        let mut params = params(hosts, name);
        let since_1970 = end.duration_since(SystemTime::UNIX_EPOCH).expect("a time after 1970");
        params.not_after = date_time_ymd(1970, 1, 1) + since_1970;
        self.signed(&params)
    }

    fn signed(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate").pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

fn params(hosts: &[&str], name: &str) -> CertificateParams {
    let hosts: Vec<_> = hosts.iter().map(|&host| host.to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("names of hosts");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A server's key files, and whether it asks clients for a certificate.
pub struct Keys {
    dir: TempDir,
    client_auth: &'static str,
}

impl Keys {
    /// Keys for a server that presents `identity`, and whose clients' certificates are signed by `authority`.
    /// `client_auth` says whether clients may (`want`), must (`need`) or need not (`none`) present a certificate.
    pub fn new(identity: &Identity, authority: &Authority, client_auth: &'static str) -> Self {
        let dir = tempfile::tempdir().expect("a directory for keys");
        let both = format!("{}{}", identity.key, identity.certificate);
        fs::write(dir.path().join("server.pem"), both).expect("the server's key");
        fs::write(dir.path().join("authority.pem"), authority.certificate()).expect("an authority");
        Self { dir, client_auth }
    }

    /// Writes a file that only this user can read into the keys' directory, and returns its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        path
    }

    /// The certificate file of the authority that signs for this server's clients.
    pub fn authority(&self) -> PathBuf {
        self.dir.path().join("authority.pem")
    }

    /// The TLS lines of `zoo.cfg`.
    pub(super) fn server_config(&self) -> Vec<String> {
        let store = |kind: &str, path: &Path| {
            [format!("ssl.{kind}.location={}", path.display()), format!("ssl.{kind}.type=PEM")]
        };
        let mut lines = store("keyStore", &self.dir.path().join("server.pem")).to_vec();
        lines.extend(store("trustStore", &self.authority()));
        lines.push(format!("ssl.clientAuth={}", self.client_auth));
        lines
    }
}
