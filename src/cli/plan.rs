//! What the options ask for, as plain data.

use zklock_core::run::{Plan, Surroundings};
use zklock_core::text::printable;

use super::{InvocationError, Options};
use crate::plan::{ConnectionSpec, Invocation, JobSpec, SecurityChoice};

impl Options {
    /// The locks and the command.
    ///
    /// # Errors
    /// If the words aren't locks and a command, or don't go with the options.
    pub fn job(&self) -> Result<JobSpec, InvocationError> {
        let invocation = self.lock.invocation()?;
        Ok(JobSpec { invocation, label: self.lock.label.clone() })
    }

    /// The settings of a run.
    pub fn plan(&self, invocation: &Invocation, around: Surroundings) -> Plan {
        let lock = &self.lock;
        let ensemble = &self.ensemble;
        let nonblock = lock.gives_up_at_once();
        let (connect_timeout, connect_option) = lock.connect_limit(ensemble.connect_timeout);
        Plan {
            first: invocation.first_lock().clone(),
            locks: invocation.locks.clone(),
            mode: lock.mode(),
            family: lock.family(),
            hosts: ensemble.zookeeper.to_string(),
            chroot: ensemble.zookeeper.chroot_text().to_owned(),
            // A file without credentials is refused.
            has_credentials: ensemble.security.auth_file.is_some() || !ensemble.auth.is_empty(),
            began: around.began,
            give_up_at: lock.timeout.filter(|_| !nonblock).map(|wait| around.began + wait),
            connect_timeout,
            connect_option,
            nonblock,
            conflict_exit_code: lock.conflict_exit_code,
            once_per: lock.once_per,
            session_timeout: lock.session_timeout,
            signal: lock.signal,
            single_child: lock.single_child,
            kill_after: lock.kill_after,
            is_not_awaited: invocation.is_not_awaited(),
            command: printable(&invocation.shown.to_string_lossy()),
            shows_line: around.shows_line,
            notifies: around.notifies,
            progress: lock.progress,
            outer: around.outer,
        }
    }

    /// How to reach the servers.
    pub fn connection(&self) -> ConnectionSpec {
        let security = &self.ensemble.security;
        ConnectionSpec {
            hosts: self.ensemble.zookeeper.clone(),
            session_timeout: self.lock.session_timeout,
            refusals_end: self.subcommand.is_none() && self.lock.gives_up_at_once(),
            security: SecurityChoice {
                auth_file: security.auth_file.clone(),
                auth: self.ensemble.auth.clone(),
                acl: security.acl.clone(),
                tls: security.tls,
                tls_ca: security.tls_ca.clone(),
                tls_cert: security.tls_cert.clone(),
                tls_key: security.tls_key.clone(),
                places: security.places.clone(),
            },
        }
    }
}
