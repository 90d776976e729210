//! What the options ask for, as plain data.

use zklock_core::run::{Plan, Surroundings};
use zklock_core::text::printable;

use super::Options;
use crate::plan::Invocation;

impl Options {
    /// The settings of a run.
    pub fn plan(&self, invocation: &Invocation, around: Surroundings) -> Plan {
        let lock = &self.lock;
        let connection = &self.connection;
        let nonblock = lock.gives_up_at_once();
        let (connect_timeout, connect_option) = lock.connect_limit(connection);
        Plan {
            locks: invocation.locks.clone(),
            mode: lock.mode(),
            family: lock.naming,
            hosts: connection.zookeeper.to_string(),
            chroot: connection.zookeeper.chroot_text().to_owned(),
            // A file without credentials is refused.
            has_credentials: connection.auth_file.is_some() || !connection.auth.is_empty(),
            began: around.began,
            began_at: around.began_at,
            give_up_at: lock.wait_limit().filter(|_| !nonblock).map(|wait| around.began + wait),
            connect_timeout,
            connect_option,
            nonblock,
            conflict_exit_code: lock.conflict_exit_code,
            once_per: lock.once_per,
            session_timeout: connection.session_timeout,
            signal: lock.signal,
            single_child: lock.single_child,
            kill_after: lock.kill_after,
            command: printable(&invocation.shown.to_string_lossy()),
            has_terminal: around.has_terminal,
            shows_line: around.shows_line,
            notifies: around.notifies,
            progress: lock.progress,
            outer: around.outer,
            held: vec![],
        }
    }
}
