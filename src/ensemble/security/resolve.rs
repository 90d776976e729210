//! The security settings that follow from what the user chose.

use anyhow::{Context, Result, anyhow, bail};
use zklock_core::acl::Acl;

use super::{CredentialError, Security, Tls};
use crate::files;
use crate::plan::{AUTH_VARIABLE, AclChoice, Connection};
use crate::process::memory;

/// Reads and checks the files.
///
/// Before the first secret is read, the process hides its memory (see [`memory::hide`]).
///
/// # Errors
/// If a file can't be read or other users can read its secret, if its content is invalid, or if options contradict
/// each other.
pub(in crate::ensemble) fn resolve(chosen: &Connection) -> Result<Security> {
    let mut security = Security::default();
    let mut add = |place: &str, text: &str| -> Result<()> {
        let added = security.credentials.add_lines(text);
        added.map_err(|(line, error)| explain(place, text, line, &error))?;
        if security.credentials.is_empty() {
            bail!("{place} holds no credentials: write lines such as digest:USER:PASSWORD");
        }
        Ok(())
    };
    if chosen.auth_file.is_some() || !chosen.auth.is_empty() {
        memory::hide();
    }
    for lines in &chosen.auth {
        let text = lines.text.to_str().ok_or_else(|| anyhow!("{}: it isn't UTF-8", lines.place))?;
        add(&lines.place, text)?;
    }
    if let Some(path) = &chosen.auth_file {
        let place = path.display().to_string();
        add(&place, &files::read_secret(path).with_context(|| chosen.place("auth-file"))?)?;
    }
    security.tls = tls(chosen)?;
    let is_authenticated =
        !security.credentials.is_empty() || security.tls.as_ref().is_some_and(Tls::has_identity);
    security.acl = acl(chosen, is_authenticated)?;
    Ok(security)
}

fn tls(chosen: &Connection) -> Result<Option<Tls>> {
    let identity = match (&chosen.tls_cert, &chosen.tls_key) {
        (Some(certificate), Some(key)) => Some((certificate.as_path(), key.as_path())),
        (Some(_), None) => {
            bail!("{} needs --tls-key FILE, the key that belongs to it", chosen.place("tls-cert"))
        }
        (None, Some(_)) => {
            bail!("{} needs --tls-cert FILE, the certificate that belongs to it", chosen.place("tls-key"))
        }
        (None, None) if chosen.tls || chosen.tls_ca.is_some() => None,
        (None, None) => return Ok(None),
    };
    if identity.is_some() {
        memory::hide();
    }
    Tls::new(chosen.tls_ca.as_deref(), identity).map(Some)
}

fn acl(chosen: &Connection, is_authenticated: bool) -> Result<Acl> {
    let acl = match &chosen.acl {
        None if is_authenticated => Acl::creator(),
        None | Some(AclChoice::Open) => Acl::open(),
        Some(AclChoice::Creator) => Acl::creator(),
        Some(AclChoice::List(list)) => list.clone(),
    };
    if acl.needs_credentials() && !is_authenticated {
        let written = match &chosen.acl {
            Some(AclChoice::List(list)) => list.to_string(),
            _ => "creator".to_owned(),
        };
        bail!(
            "{} {written} gives the nodes to their creator, which needs credentials: \
             add --auth-file FILE, {AUTH_VARIABLE} or --tls-cert FILE, or use --acl open",
            chosen.place("acl")
        );
    }
    Ok(acl)
}

/// Adds the place to the error, and the line number if there are several lines.
fn explain(place: &str, text: &str, line: usize, error: &CredentialError) -> anyhow::Error {
    if text.lines().nth(1).is_some() {
        anyhow!("{place}: line {line}: {error}")
    } else {
        anyhow!("{place}: {error}")
    }
}
