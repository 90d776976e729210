//! The command of a zklock: a few processes, some of which obey, ignore, linger or leave the group.

use zklock::core::exit::Exit;

/// What a command is like.
#[derive(Debug, Clone)]
pub(crate) struct Nature {
    /// It ends by itself after so long.
    pub(crate) lasts: u64,
    /// With this.
    pub(crate) exit: Exit,
    /// After TERM it ends within this time, if it obeys.
    pub(crate) obeys: Option<u64>,
    /// Others of it, in or out of its process group: when each ends by itself.
    pub(crate) others: Vec<Other>,
}

#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub(crate) lasts: u64,
    pub(crate) obeys: Option<u64>,
    pub(crate) in_group: bool,
}

/// One process of it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) in_group: bool,
    pub(crate) obeys: Option<u64>,
    /// When it ends, as far as is known now, and how.
    pub(crate) ends: u64,
    pub(crate) exit: Exit,
    pub(crate) dead: bool,
    /// It is stopped from then on; time stands still for it.
    pub(crate) stopped: Option<u64>,
}

/// A command that was started. Its first process is the leader.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) processes: Vec<Process>,
    pub(crate) reaped: bool,
    /// Its leader ended by itself: what is left of it is left alone.
    pub(crate) ended_by_itself: bool,
    /// The leader's stop was told.
    pub(crate) stop_told: bool,
}

impl Command {
    pub(crate) fn start(nature: &Nature, now: u64) -> Self {
        let leader = Process {
            in_group: true,
            obeys: nature.obeys,
            ends: now + nature.lasts,
            exit: nature.exit,
            dead: false,
            stopped: None,
        };
        let others = nature.others.iter().map(|other| Process {
            in_group: other.in_group,
            obeys: other.obeys,
            ends: now + other.lasts,
            exit: Exit::Code(0),
            dead: false,
            stopped: None,
        });
        let processes = std::iter::once(leader).chain(others).collect();
        Self { processes, reaped: false, ended_by_itself: false, stop_told: false }
    }

    /// One that is itself a zklock: it ends when that does. Before it has begun, a signal ends it at once.
    pub(crate) fn inner(now: u64) -> Self {
        let lasts = u64::MAX / 4;
        Self::start(&Nature { lasts, exit: Exit::Code(0), obeys: Some(0), others: vec![] }, now)
    }

    pub(crate) fn leader(&self) -> &Process {
        &self.processes[0]
    }

    /// Whether any process of it runs.
    pub(crate) fn runs(&self) -> bool {
        self.processes.iter().any(|process| !process.dead && process.stopped.is_none())
    }

    /// Whether a process of it runs that the lock has to protect. One that is stopped does nothing.
    pub(crate) fn needs_the_lock(&self) -> bool {
        !self.ended_by_itself && self.runs()
    }

    /// Whether a process of it is left that should not be.
    pub(crate) fn is_left(&self) -> bool {
        !self.ended_by_itself && !self.none_left()
    }

    /// Whether none is left but perhaps a dead leader.
    pub(crate) fn none_left(&self) -> bool {
        self.processes.iter().all(|process| process.dead)
    }

    /// When the next of its processes ends.
    pub(crate) fn next_end(&self) -> Option<u64> {
        let running = self.processes.iter().filter(|process| !process.dead && process.stopped.is_none());
        running.map(|process| process.ends).min()
    }
}
