//! What is wrong with a certificate, in words that name the remedy.

use rustls::CertificateError;
use zklock_core::text::printable;

/// What is wrong with a certificate that claims to be signed by one of the `authorities`, as in "its certificate ...".
pub(in crate::ensemble) fn flaw(error: &CertificateError, authorities: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            format!(
                "isn't signed by an authority {authorities}, or the server doesn't send an intermediate one"
            )
        }
        CertificateError::BadSignature => {
            format!("names an authority {authorities}, but is signed with another key: is that an older one?")
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "has no name (subjectAltName): it needs one with this host name".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<_> = presented.iter().map(|name| bare_name(name)).collect();
            format!("is for another name: use a name that it has ({})", names.join(", "))
        }
        CertificateError::NotValidForName => "is for another name".to_owned(),
        CertificateError::Expired => "has expired: it needs a new one".to_owned(),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            format!("expired {days} days ago: it needs a new one, or a clock is wrong")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "isn't valid yet: is a clock wrong?".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "isn't meant for a server: its extendedKeyUsage needs serverAuth".to_owned()
        }
        CertificateError::Revoked => "was revoked: it needs a new one".to_owned(),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "is signed in a way that isn't safe or isn't known, such as with SHA-1: it needs a new one"
                .to_owned()
        }
        CertificateError::BadEncoding => "can't be parsed: it needs a new one".to_owned(),
        other => rare_flaw(&format!("{other:?}")),
    }
}

/// The flaws for which rustls has no words of its own. They are errors of another library, and known by their names.
fn rare_flaw(error: &str) -> String {
    let name = error.trim_start_matches("Other(OtherError(").trim_end_matches(')');
    match name {
        "CaUsedAsEndEntity" => {
            "is an authority's own (CA:TRUE), as 'openssl req -x509' makes it: sign another one with it, \
                                or make it with '-addext basicConstraints=critical,CA:FALSE'"
                .to_owned()
        }
        "EndEntityUsedAsCa" => {
            "is signed with a certificate that isn't an authority's (it lacks CA:TRUE)".to_owned()
        }
        "UnsupportedCertVersion" => {
            "is of version 1, as OpenSSL before 3.4 makes it without extensions: it needs a new one with a \
             subjectAltName"
                .to_owned()
        }
        "UnsupportedCriticalExtension" => {
            "has a critical extension that isn't known: it needs a new one without".to_owned()
        }
        "NameConstraintViolation" => {
            "has a name that its authority may not sign (nameConstraints)".to_owned()
        }
        name => format!("can't be used: {}", printable(name)),
    }
}

/// The name in `DnsName("zk1")`, in printable characters, because it comes from a server that isn't authenticated.
fn bare_name(name: &str) -> String {
    let name = name.split_once('(').map_or(name, |(_, name)| name.trim_end_matches(')'));
    printable(name.trim_matches('"'))
}
