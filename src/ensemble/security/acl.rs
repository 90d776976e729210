//! The ACL of the nodes that zklock creates, as the client library takes it.

use zklock_core::acl::{Acl, AclEntry};
use zookeeper_client as library;
use zookeeper_client::{AuthId, Permission};

/// The permission of each letter.
const PERMISSIONS: [(char, Permission); 5] = [
    ('c', Permission::CREATE),
    ('d', Permission::DELETE),
    ('r', Permission::READ),
    ('w', Permission::WRITE),
    ('a', Permission::ADMIN),
];

pub(in crate::ensemble) fn to_library(acl: &Acl) -> Vec<library::Acl> {
    let entry = |entry: &AclEntry| {
        let granted = PERMISSIONS.iter().filter(|(letter, _)| entry.letters.contains(*letter));
        let permission = granted.fold(Permission::NONE, |all, (_, one)| all | *one);
        library::Acl::new(permission, AuthId::new(&entry.scheme, &entry.id))
    };
    acl.entries().iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_is_a_permission() {
        let acl = Acl::parse("world:anyone:r, auth::cdrw").map(|acl| to_library(&acl));
        let expected = [
            library::Acl::new(Permission::READ, AuthId::anyone()),
            library::Acl::new(
                Permission::CREATE | Permission::DELETE | Permission::READ | Permission::WRITE,
                AuthId::authed(),
            ),
        ];
        assert_eq!(acl.as_deref(), Ok(&expected[..]));
    }
}
