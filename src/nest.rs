//! zklock inside a command of zklock: a lock that the outer one holds isn't queued for again.
//!
//! The variables may be stale: a daemon inherits them and outlives the lock. So the outer node has to be seen,
//! and that it is the same one. It tells the ensemble too: another one with the same path has another node.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Result, bail};
use nix::sys::signal::Signal;

use crate::environment::{HeldLock, full_path};
use crate::event::{Emitter, Event, Events};
use crate::job::spawn::{Launch, SpawnError, explain};
use crate::lock::name::Mode;
use crate::lock::path::LockPath;
use crate::release::ends_us;
use crate::sys;
use crate::zk::{Reply, Request, Session, SessionChange, SessionKey, Settings};

/// The sessions of the main job count from zero; this one never meets them.
const KEY: SessionKey = SessionKey(u32::MAX);

/// What was found of the locks around us.
#[derive(Debug, PartialEq, Eq)]
pub enum Around {
    /// These are really held by the command that we run in.
    Held(Vec<HeldLock>),
    /// Somebody wants us to end.
    Interrupted(Signal),
}

/// Which of `locks` are held around us: those that `held` tells of, and whose nodes are seen to be there.
pub fn look_around(
    locks: &[LockPath],
    held: &[HeldLock],
    settings: &Settings,
    emitter: &Emitter,
    events: &Events,
) -> Result<Around> {
    let chroot = settings.hosts.chroot_text();
    let told = |path: &LockPath| held.iter().find(|held| held.path == full_path(chroot, path)).cloned();
    let candidates: Vec<HeldLock> = locks.iter().filter_map(told).collect();
    if candidates.is_empty() {
        return Ok(Around::Held(vec![]));
    }
    let session = Session::open(KEY, settings.clone(), emitter.clone())?;
    let mut found = vec![];
    let mut asked = 0;
    loop {
        match events.next(settings.deadline)? {
            Some(Event::Signal(signal)) if ends_us(signal) => return Ok(Around::Interrupted(signal)),
            Some(Event::Session(KEY, SessionChange::Connected { .. })) => {
                for (index, candidate) in candidates.iter().enumerate() {
                    let node = candidate.node.strip_prefix(chroot).unwrap_or(&candidate.node);
                    session.ask(index, Request::Watch(node.to_owned()));
                }
            }
            Some(Event::Reply(KEY, index, Reply::Read(_, read))) => {
                asked += 1;
                if let (Some(candidate), Ok(node)) = (candidates.get(index), read)
                    && node.czxid == candidate.fencing_token
                    && node.owner == candidate.session
                {
                    found.push(candidate.clone());
                }
                if asked == candidates.len() {
                    session.release(vec![]);
                }
            }
            // Without a session nothing is known, and the main job will say why there is none.
            None | Some(Event::Session(KEY, SessionChange::Unreachable(_) | SessionChange::Lost(_))) => {
                return Ok(Around::Held(vec![]));
            }
            Some(Event::Session(KEY, SessionChange::Closed)) => return Ok(Around::Held(found)),
            Some(_) => {}
        }
    }
}

/// Whether what is held around us is enough for `mode`. If not it never will be: the outer lock ends only after
/// us.
pub fn check(held: &HeldLock, mode: Mode) -> Result<()> {
    let enough = match (held.mode(), mode) {
        (Some(outer), Mode::Shared) => outer.slots() == 1,
        (None | Some(Mode::Shared), _) => false,
        (Some(outer), inner) => outer.slots() == inner.slots(),
    };
    if !enough {
        bail!(
            "held around us as {}, and asked for here as {mode}: it would wait for itself for ever; \
             ask for the stronger one outside",
            held.mode
        );
    }
    Ok(())
}

/// Becomes the command, in the same process group and under the outer's lease. Returns only if that fails.
pub fn become_command(launch: Launch) -> SpawnError {
    let Launch { program, arguments, environment, mask, caught, .. } = launch;
    let mut command = Command::new(&program);
    command.args(arguments).envs(environment);
    sys::before_exec(&mut command, move || -> io::Result<()> {
        sys::restore_dispositions(&caught.default, &caught.ignored);
        sys::restore_sigpipe();
        Ok(mask.thread_set_mask()?)
    });
    explain(program, &command.exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(mode: Mode) -> HeldLock {
        HeldLock {
            path: "/a".to_owned(),
            node: "/a/n".to_owned(),
            fencing_token: 1,
            session: 1,
            mode: mode.word().to_owned(),
            slots: mode.slots(),
        }
    }

    #[test]
    fn what_is_held_outside_must_be_at_least_as_strong() {
        use Mode::{Exclusive, Shared, Slots};
        for (outer, inner, enough) in [
            (Exclusive, Exclusive, true),
            (Exclusive, Shared, true),
            (Shared, Shared, true),
            (Shared, Exclusive, false),
            (Slots(2), Slots(2), true),
            (Slots(2), Slots(3), false),
            (Slots(2), Exclusive, false),
            (Slots(2), Shared, false),
            (Slots(1), Exclusive, true),
            (Exclusive, Slots(1), true),
            (Exclusive, Slots(2), false),
        ] {
            assert_eq!(check(&held(outer), inner).is_ok(), enough, "{inner} inside {outer}");
        }
    }
}
