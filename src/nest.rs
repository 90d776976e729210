//! zklock inside a command of zklock: a lock that the outer one holds isn't queued for again.
//!
//! The variables may be stale: a daemon inherits them and outlives the lock. So the outer node has to be seen,
//! and that it is the same one. It tells the ensemble too: another one with the same path has another node.

use std::io;

use anyhow::{Result, bail};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::execvpe;

use crate::acquire::Limits;
use crate::environment::{HeldLock, full_path};
use crate::event::{Event, Events};
use crate::job::spawn::{Launch, SpawnError, explain};
use crate::lock::name::{Family, Mode, Name};
use crate::lock::path::LockPath;
use crate::pair::Worker;
use crate::release::ends_us;
use crate::sys;
use crate::zk::{Failure, Inquiry, Limit, Node, Reply, Request, Settings, Unanswered};

/// What was found of the locks around us.
#[derive(Debug, PartialEq, Eq)]
pub enum Around {
    /// These are really held by the command that we run in.
    Held(Vec<HeldLock>),
    /// Somebody wants us to end.
    Interrupted(Signal),
}

/// Which of `locks` are held around us: those that `held` tells of, and whose nodes are seen to be there.
///
/// Only what is seen to be gone is not held. Whoever takes a fault for that queues behind the lock around it,
/// which waits for its end.
pub fn look_around(
    locks: &[LockPath],
    held: &[HeldLock],
    settings: &Settings,
    limits: Limits,
    events: &Events,
    worker: &Worker,
) -> Result<Around> {
    let chroot = settings.hosts.chroot_text();
    // There may be several of one path: other ensembles have their own.
    let is_wanted = |held: &&HeldLock| locks.iter().any(|path| held.path == full_path(chroot, path));
    let candidates: Vec<HeldLock> = held.iter().filter(is_wanted).cloned().collect();
    if candidates.is_empty() {
        return Ok(Around::Held(vec![]));
    }
    loop {
        let mut interrupted = None;
        let looked = look(&candidates, settings, || {
            interrupted = interrupted.or_else(|| interruption(events, worker));
            interrupted.is_some()
        });
        if let Some(signal) = interrupted {
            return Ok(Around::Interrupted(signal));
        }
        match looked? {
            Ok(held) => return Ok(Around::Held(held)),
            Err(Unanswered::Over(Failure::Expired | Failure::GivenUp)) => {}
            Err(Unanswered::Unreachable(diagnoses)) => bail!(limits.unreachable(&diagnoses)),
            // Without an answer nothing is known, and the main job will say why there is none.
            Err(_) => return Ok(Around::Held(vec![])),
        }
    }
}

/// Whether somebody wants us to end. If we are to stop, as by Ctrl-Z, nothing runs yet that could stop beside us.
fn interruption(events: &Events, worker: &Worker) -> Option<Signal> {
    std::iter::from_fn(|| events.pending()).find_map(|event| match event {
        Event::Signal(Signal::SIGTSTP) => {
            worker.stop(Signal::SIGTSTP as i32, false);
            None
        }
        Event::Signal(signal) if ends_us(signal) => Some(signal),
        Event::MonitorDied => Some(Signal::SIGKILL),
        _ => None,
    })
}

/// Looks in one session.
fn look(
    candidates: &[HeldLock],
    settings: &Settings,
    gives_up: impl FnMut() -> bool,
) -> io::Result<Result<Vec<HeldLock>, Unanswered>> {
    let chroot = settings.hosts.chroot_text();
    let node = |held: &HeldLock| held.node.strip_prefix(chroot).unwrap_or(&held.node).to_owned();
    let questions: Vec<_> = candidates.iter().map(|held| Request::Watch(node(held))).collect();
    let limit = settings.deadline.map_or(Limit::Each(settings.session_timeout), Limit::Until);
    let mut inquiry = Inquiry::open(settings.clone(), limit)?.unless(gives_up);
    let answers = match inquiry.connect().and_then(|()| inquiry.ask_all(&questions)) {
        Ok(answers) => answers,
        Err(unanswered) => return Ok(Err(unanswered)),
    };
    inquiry.close();
    let is_there = |held: &HeldLock, answer: Reply| match answer {
        // Its owner's ACL shows it to nobody else. But its name has a uuid: there is no other.
        Reply::Read(_, Ok(node)) if node == Node::HIDDEN => true,
        Reply::Read(_, Ok(node)) => node.czxid == held.fencing_token && node.owner == held.session,
        _ => false,
    };
    let seen = candidates.iter().zip(answers).filter(|(held, answer)| is_there(held, answer.clone()));
    Ok(Ok(seen.map(|(held, _)| held.clone()).collect()))
}

/// Whether what is held around us is enough for `mode`. If not it never will be: the outer lock ends only after
/// us.
pub fn check(held: &HeldLock, mode: Mode, family: Family) -> Result<()> {
    let name = held.node.rsplit('/').next().and_then(Name::parse);
    if let Some(outer) = name.map(|name| name.family).filter(|&outer| outer != family) {
        bail!(
            "held around us in the naming of {outer}, whose clients are the only ones kept out, and asked for here \
             in that of {family}: use another path"
        );
    }
    let enough = match (held.mode(), mode) {
        (Some(outer), Mode::Shared) => outer.slots() == 1,
        (None | Some(Mode::Shared), _) => false,
        (Some(outer), inner) => outer.slots() == inner.slots(),
    };
    if !enough {
        let outer = held.mode().map_or_else(|| held.mode.clone(), |outer| outer.to_string());
        bail!(
            "held around us as {outer}, and asked for here as {mode}: it would wait for itself for ever; \
             ask for the stronger one outside"
        );
    }
    Ok(())
}

/// Becomes the command, in the same process group and under the outer's lease. Returns only if that fails.
pub fn become_command(launch: Launch) -> SpawnError {
    let image = match launch.image() {
        Ok(image) => image,
        Err(error) => return error,
    };
    let found = launch.found;
    // An exec keeps it, and the command didn't ask to adopt orphans.
    if !found.was_subreaper {
        let _ = prctl::set_child_subreaper(false);
    }
    sys::drop_handlers();
    sys::restore_ignored(found.ignores_children);
    // What came since zklock began waits for this.
    if let Err(error) = found.mask.thread_set_mask() {
        log::debug!("can't restore the signal mask: {error}");
    }
    let Err(error) = execvpe(image.program(), image.arguments(), image.environment());
    explain(launch.program, &error.into())
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
            let checked = check(&held(outer), inner, Family::Curator);
            assert_eq!(checked.is_ok(), enough, "{inner} inside {outer}");
        }
    }
}
