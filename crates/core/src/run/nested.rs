//! zklock inside a command of zklock: a lock that is held around it isn't queued for a second time.

use super::Plan;
use super::variables::variables;
use crate::environment::HeldLock;
use crate::message::Message;
use crate::path::LockPath;
use crate::queue::name::{Family, Mode, Name};

impl Plan {
    /// The wanted ones among the locks that are said to be held around zklock. One path may appear several times, held on
    /// different ensembles.
    pub fn said_to_be_held(&self) -> Vec<HeldLock> {
        let is_wanted = |held: &&HeldLock| self.locks.iter().any(|path| held.is_of(&self.chroot, path));
        self.outer.iter().filter(is_wanted).cloned().collect()
    }

    /// Leaves locks that are `held` around zklock out of those to queue for. Returns the command's variables if none is left:
    /// then zklock is to become its command, under the surrounding zklock's lease.
    ///
    /// # Errors
    /// Why the locks around zklock don't suffice, and about which lock that is.
    pub fn enter(&mut self, held: Vec<HeldLock>) -> Result<Option<Variables>, (LockPath, Box<Message>)> {
        for held in &held {
            if let Some(why) = too_weak(held, self.mode, self.family) {
                let path = self.locks.iter().find(|path| held.is_of(&self.chroot, path));
                return Err((path.unwrap_or(self.first()).clone(), Box::new(why)));
            }
        }
        self.held = held;
        if self.not_held().next().is_some() {
            return Ok(None);
        }
        let why = if self.once_per.is_some() {
            // The surrounding lock will be released without a record, whatever the command does.
            Message::error("nesting", "already held by the surrounding command: put --once-per there")
        } else {
            match variables(self, vec![]) {
                Ok(variables) => return Ok(Some(variables)),
                Err(why) => Message::error("not_started", why),
            }
        };
        Err((self.first().clone(), Box::new(why)))
    }
}

/// Names and values of environment variables.
pub type Variables = Vec<(String, String)>;

/// Why the surrounding lock isn't enough for `mode`, if it isn't. Waiting can't help, because the outer lock ends only
/// after zklock.
fn too_weak(held: &HeldLock, mode: Mode, family: Family) -> Option<Message> {
    let name = held.node.rsplit('/').next().and_then(Name::parse);
    if let Some(outer) = name.map(|name| name.family).filter(|&outer| outer != family) {
        let text = format!(
            "the surrounding command holds it in the naming of {outer}, which keeps out only clients of that naming, and \
             this asks for that of {family}: use another path"
        );
        return Some(Message::error("nesting", text));
    }
    let enough = match (held.mode(), mode) {
        (Some(outer), Mode::Shared) => outer.slots() == 1,
        (None | Some(Mode::Shared), _) => false,
        (Some(outer), inner) => outer.slots() == inner.slots(),
    };
    let outer = || held.mode().map_or_else(|| held.mode.clone(), Mode::asked);
    let asked = mode.asked();
    (!enough).then(|| {
        let text = format!(
            "the surrounding command holds {}, and this asks for {asked}, so it would wait for itself forever: ask for {asked} \
             outside too, or use another path",
            outer()
        );
        Message::error("nesting", text)
    })
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
            pid: 7,
            started: 70,
        }
    }

    #[test]
    fn the_outer_lock_must_be_at_least_as_strong() {
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
            let why = too_weak(&held(outer), inner, Family::Curator);
            assert_eq!(why.is_none(), enough, "{inner} inside {outer}");
        }
    }
}
