//! The ACL of the nodes that zklock creates.

use std::fmt;

use thiserror::Error;

/// The letters for permissions, as in ZooKeeper's own command line: create, delete, read, write, admin.
const LETTERS: &str = "cdrwa";

/// A list of permissions on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl(Vec<AclEntry>);

/// The permissions of one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclEntry {
    /// The scheme of the id.
    pub scheme: String,
    /// Who has the permissions.
    pub id: String,
    /// A letter for each permission.
    pub letters: String,
}

/// Why an ACL is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AclError {
    /// Not of the form `SCHEME:ID:PERMISSIONS`.
    #[error("'{0}' isn't SCHEME:ID:PERMISSIONS, as in world:anyone:cdrwa or auth::cdrwa,world:anyone:r")]
    Form(String),
    /// No letter, or one that isn't a permission.
    #[error("'{0}' are no permissions: write some of c (create), d (delete), r (read), w (write), a (admin)")]
    Letters(String),
    /// An id of the scheme `world` other than `anyone`.
    #[error("'world:{0}': the only id of that scheme is world:anyone")]
    World(String),
    /// A password instead of its hash. Authenticating with that password would match nothing.
    #[error(
        "the id of a digest is USER:HASH, with the hash in base64 and never the password. The hash: \
         printf %s USER:PASSWORD | openssl dgst -sha1 -binary | openssl base64 -A (for servers with the setting \
         zookeeper.DigestAuthenticationProvider.digestAlg, that algorithm instead of -sha1, such as -sha256)"
    )]
    Digest,
    /// No entry has this permission, without which no contender can use the lock.
    #[error(
        "it gives no one {0}, which zklock needs on its nodes; READ and CREATE are the letters r and c, as in world:anyone:cr"
    )]
    LockedOut(&'static str),
}

impl Acl {
    /// All permissions for every client.
    pub fn open() -> Self {
        Self(vec![AclEntry::new("world", "anyone", LETTERS)])
    }

    /// All permissions for the credentials that created the node, and none for other clients.
    pub fn creator() -> Self {
        Self(vec![AclEntry::new("auth", "", LETTERS)])
    }

    /// Parses `scheme:id:permissions,...`.
    pub fn parse(list: &str) -> Result<Self, AclError> {
        let mut entries: Vec<AclEntry> = vec![];
        let mut text = String::new();
        for piece in list.split(',') {
            text.push_str(piece);
            match AclEntry::parse(text.trim()) {
                // The subject of a certificate contains commas.
                Err(_) if text.trim_start().starts_with("x509:") => text.push(','),
                entry => {
                    entries.push(entry?);
                    text.clear();
                }
            }
        }
        if !text.is_empty() {
            return Err(AclError::Form(text.trim_end_matches(',').to_owned()));
        }
        // READ is needed to list the queue and to confirm the lease, CREATE to queue.
        for (letter, name) in [('r', "READ"), ('c', "CREATE")] {
            if !entries.iter().any(|entry| entry.letters.contains(letter)) {
                return Err(AclError::LockedOut(name));
            }
        }
        Ok(Self(entries))
    }

    /// Whether the ACL has an entry of the scheme `auth`, which stands for the creator's credentials.
    pub fn needs_credentials(&self) -> bool {
        self.0.iter().any(|entry| entry.scheme == "auth")
    }

    /// The entries.
    pub fn entries(&self) -> &[AclEntry] {
        &self.0
    }
}

impl Default for Acl {
    fn default() -> Self {
        Self::open()
    }
}

impl AclEntry {
    fn new(scheme: &str, id: &str, letters: &str) -> Self {
        Self { scheme: scheme.to_owned(), id: id.to_owned(), letters: letters.to_owned() }
    }

    fn parse(text: &str) -> Result<Self, AclError> {
        let form = || AclError::Form(text.to_owned());
        let (scheme, rest) = text.split_once(':').ok_or_else(form)?;
        let (id, letters) = rest.rsplit_once(':').ok_or_else(form)?;
        if scheme.is_empty() || (id.is_empty() && scheme != "auth") {
            return Err(form());
        }
        // Before the letters, which may be the password.
        if scheme == "digest" && !is_digest_id(id) {
            return Err(AclError::Digest);
        }
        if letters.is_empty() || !letters.chars().all(|letter| LETTERS.contains(letter)) {
            return Err(AclError::Letters(letters.to_owned()));
        }
        match scheme {
            "world" if id != "anyone" => Err(AclError::World(id.to_owned())),
            _ => Ok(Self::new(scheme, id, letters)),
        }
    }
}

/// `USER:HASH`, where the hash is in base64, of MD5 at least. A password hardly ever looks like that.
fn is_digest_id(id: &str) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let is_hash =
        |hash: &str| hash.len() >= 24 && hash.len().is_multiple_of(4) && hash.chars().all(is_base64);
    id.split_once(':').is_some_and(|(user, hash)| !user.is_empty() && is_hash(hash))
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, AclEntry { scheme, id, letters }) in self.0.iter().enumerate() {
            write!(f, "{}{scheme}:{id}:{letters}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HASH: &str = "fE2ZyQd3xyBTrKdXNq9jCmvBvdk=";

    #[test]
    fn lists_have_zookeeper_s_syntax() {
        for list in [
            "world:anyone:cdrwa".to_owned(),
            format!("world:anyone:r,digest:ci:{HASH}:cdrw,auth::cdrwa"),
            "ip:192.0.2.0/24:crd,ip:2001:db8::1:r".to_owned(),
            "x509:CN=ci,OU=builds,O=example:cdrw,world:anyone:r".to_owned(),
            "sasl:ci:cdrw".to_owned(),
        ] {
            assert_eq!(Acl::parse(&list).map(|acl| acl.to_string()), Ok(list));
        }
    }

    #[test]
    fn each_mistake_has_its_own_reason() {
        for (list, reason) in [
            ("", AclError::Form(String::new())),
            ("everybody", AclError::Form("everybody".to_owned())),
            ("world:cdrwa", AclError::Form("world:cdrwa".to_owned())),
            ("world:anyone:cdrwa,", AclError::Form(String::new())),
            ("digest::cdrwa", AclError::Form("digest::cdrwa".to_owned())),
            ("x509:CN=a,O=b", AclError::Form("x509:CN=a,O=b".to_owned())),
            ("world:anyone:all", AclError::Letters("all".to_owned())),
            ("world:anyone:", AclError::Letters(String::new())),
            ("world:me:cdrwa", AclError::World("me".to_owned())),
            ("digest:ci:password:cdrwa", AclError::Digest),
            ("digest::fE2ZyQd3xyBTrKdXNq9jCmvBvdk=:cdrwa", AclError::Digest),
            ("digest:ci:fE2ZyQd3xyBTrKdXNq9jCmvBvdk:cdrwa", AclError::Digest),
            ("digest:ci:fE2ZyQd3xyBTrKdXNq9jCmvBvdk==:cdrwa", AclError::Digest),
            ("world:anyone:cdwa", AclError::LockedOut("READ")),
            ("world:anyone:r,auth::dwa", AclError::LockedOut("CREATE")),
        ] {
            assert_eq!(Acl::parse(list), Err(reason), "{list}");
        }
    }

    #[test]
    fn the_examples_of_the_messages_are_accepted() {
        let message = AclError::Form(String::new()).to_string();
        let (_, examples) = message.split_once("as in ").unwrap();
        for example in examples.split(" or ") {
            assert!(Acl::parse(example).is_ok(), "{example}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(list in "\\PC{0,60}") {
            let _ = Acl::parse(&list);
        }
    }
}
