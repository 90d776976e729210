//! Connect strings.

use zklock_core::hosts::Hosts;

use super::shown::assert_harmless;

/// A connect string is refused with a reason, or understood and written out again.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Hosts::parse(text) {
        Err(reason) => assert!(!reason.to_string().is_empty()),
        Ok(hosts) => {
            assert!(!hosts.servers.is_empty());
            for server in &hosts.servers {
                assert!(server.port > 0 && !server.host.is_empty());
                assert_harmless(&server.host);
                assert!(!server.host.contains(|c: char| c.is_whitespace() || ",/[]@".contains(c)));
            }
            let whole = hosts.to_string();
            assert_eq!(Hosts::parse(&whole).as_ref(), Ok(&hosts), "{whole}");
            assert!(whole.ends_with(hosts.chroot_text()), "{whole}");
        }
    }
}
