//! Two processes with one fate: the monitor, which the user started, and its worker.
//!
//! The *monitor* does next to nothing, so that nothing can hold it up: it relays signals, stops and continues as the
//! command does, and exits as the worker says. The *worker* has the session, the queue, the lease and the command. If
//! either is killed, or the worker stands still for longer than its lease, the other ends every process of the command,
//! and then deletes the lock nodes. `docs/signals.md` has the whole story.

mod clean;
mod page;
mod title;
mod words;

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;
use std::{fs, io, process};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{Pid, getpgrp, setpgid};

pub use self::clean::clean;
pub use self::page::Page;
pub use self::title::WORKER;
pub use self::words::{Heard, Line};
use crate::core::exit::Exit;
use crate::core::pair::{Deadline, Order, OwnedNode, Report, Stage};
use crate::core::signal::SIGCONT;
use crate::runtime::clock;
use crate::runtime::sys::{self, Half};

/// How zklock found its signals: the command shall find them so.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The signal mask.
    pub mask: SigSet,
    /// Whether SIGCHLD was ignored.
    pub ignores_children: bool,
    /// Whether this process was a child subreaper.
    pub was_subreaper: bool,
}

/// One of the two processes, after the fork. Every signal is blocked in both.
#[derive(Debug)]
pub enum Side {
    /// The process that the user started.
    Monitor(MonitorSide),
    /// Its child.
    Worker(Worker),
}

/// The monitor's end.
#[derive(Debug)]
pub struct MonitorSide {
    /// The line to the worker.
    pub line: Line,
    /// What the worker shows without a message.
    pub page: Page,
    /// The worker's process.
    pub worker: Pid,
    /// How zklock found its signals.
    pub found: Found,
}

/// The worker's end.
#[derive(Debug)]
pub struct Worker {
    line: Rc<Line>,
    page: Page,
    deadline: Option<Deadline>,
    continued: Rc<Cell<u64>>,
    /// The process that the user knows as zklock, and its process group.
    pub monitor: Pid,
    /// The monitor's process group.
    pub group: Pid,
    /// How zklock found its signals.
    pub found: Found,
}

/// Becomes two processes. Nothing may have been started yet, no thread either.
pub fn split() -> io::Result<Side> {
    // The numbers in there are those that processes are signalled by.
    if fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse().ok()) != Some(process::id()) {
        return Err(io::Error::other(
            "/proc isn't mounted, or is that of another PID namespace; mount it, as unshare --mount-proc does",
        ));
    }
    let page = Page::map()?;
    let (monitors, workers) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    let group = getpgrp();
    let was_subreaper = prctl::get_child_subreaper().unwrap_or_default();
    // Before the fork: there must be no gap.
    adopt_orphans()?;
    // Ignored, it would have the kernel reap the worker unseen.
    let ignores_children = sys::stop_ignoring_children();
    // A signal that comes meanwhile waits until there is somebody to take it.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let found = Found { mask, ignores_children, was_subreaper };
    match sys::split() {
        Ok(Half::Parent(worker)) => {
            drop(workers);
            // On both sides: whoever comes first has it done.
            let _ = setpgid(worker, worker);
            Ok(Side::Monitor(MonitorSide { line: Line(monitors), page, worker, found }))
        }
        Ok(Half::Child(monitor)) => {
            drop(monitors);
            let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
            let line = Rc::new(Line(workers));
            Ok(Side::Worker(Worker {
                line,
                page,
                deadline: None,
                continued: Rc::default(),
                monitor,
                group,
                found,
            }))
        }
        Err(error) => {
            let _ = mask.thread_set_mask();
            Err(error)
        }
    }
}

/// From here on whoever loses its parent below this process becomes its child, so that it can be found. Without that
/// nothing is started.
fn adopt_orphans() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

impl Worker {
    /// Takes its place: its orphans, its name, and its end with the monitor's. `false`: the monitor is dead already.
    pub fn settle(&self) -> io::Result<bool> {
        // A fork doesn't inherit it.
        adopt_orphans()?;
        title::set(&format!("zklock: worker of {}", self.monitor));
        Ok(sys::wake_on_death_of(self.monitor))
    }

    /// What hears the monitor.
    pub fn ear(&self) -> Ear {
        Ear { line: Rc::clone(&self.line), page: self.page, continued: Rc::clone(&self.continued) }
    }

    /// What reports to the monitor, also when all else is gone.
    pub fn reporter(&self) -> Reporter {
        Reporter(Rc::clone(&self.line))
    }

    /// The command is about to be started. Until it is over, the monitor ends it at its `deadline` if nothing has
    /// before.
    pub fn command_begins(&mut self, deadline: Option<Deadline>) {
        self.page.set_stage(Stage::Running);
        self.set_deadline(deadline);
    }

    /// The command is over and reaped, or could not be started; and this is how zklock exits. What remains to be done
    /// takes no longer than `patience`: a worker that takes longer stands still.
    pub fn command_is_over(&mut self, exit: Exit, patience: Duration) {
        self.say(&Report::Exit(exit));
        self.page.set_stage(Stage::Over);
        let end = clock::now() + patience;
        self.set_deadline(Some(Deadline { act: end, latest: end }));
    }

    /// From here on the monitor ends the command.
    pub fn set_deadline(&mut self, deadline: Option<Deadline>) {
        if self.deadline == deadline {
            return;
        }
        self.page.set_deadline(deadline);
        // A store wakes nobody: a monitor that sleeps to a later moment has to be told.
        let shorter = match (self.deadline, deadline) {
            (Some(old), Some(new)) => new.act < old.act,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        self.deadline = deadline;
        if shorter {
            self.say(&Report::Shorter);
        }
    }

    /// Has zklock stop as the terminal's signal would have it.
    pub fn stop(&self, signal: i32, whole_group: bool) {
        self.say(&Report::Stop { signal, whole_group, continued: self.continued.get() });
    }

    /// A node is about to be created, with this path but for its number.
    pub fn enters(&self, path: &str) {
        self.page.set_entering(Some(path));
    }

    /// These nodes are ours: the monitor may have to delete them.
    pub fn own(&self, session_timeout: u64, nodes: Vec<OwnedNode>) {
        self.say(&Report::Nodes { session_timeout, nodes });
        self.page.set_entering(None);
    }

    /// What the command's child shows the monitor between fork and exec.
    pub fn page(&self) -> Page {
        self.page
    }

    fn say(&self, report: &Report) {
        self.reporter().say(report);
    }
}

/// What the worker reports with.
#[derive(Debug)]
pub struct Reporter(Rc<Line>);

impl Reporter {
    /// The last word, when all else is done: it isn't lost, however much a monitor that is stopped hasn't read.
    pub fn say_at_last(&self, report: &Report) {
        if let Err(error) = self.0.say_and_wait(report) {
            log::debug!("the monitor doesn't listen: {error}");
        }
    }

    /// Says something. A monitor that is gone or stopped reads nothing, and either is seen in another way.
    pub fn say(&self, report: &Report) {
        if let Err(error) = self.0.say(report) {
            log::debug!("the monitor doesn't listen: {error}");
        }
    }
}

/// What the worker hears the monitor with.
#[derive(Debug)]
pub struct Ear {
    line: Rc<Line>,
    page: Page,
    continued: Rc<Cell<u64>>,
}

impl Ear {
    /// Takes in what the monitor says. The signals among it are counted, so that the monitor sees that they are heard.
    pub fn hear(&self) -> Heard<Order> {
        let heard = self.line.hear();
        if let Heard::Word(Order::Signal(_)) = heard {
            self.page.count_taken();
        }
        heard
    }

    /// A signal is about to be acted on. If it has zklock go on, whatever stop was asked for before is outdated.
    pub fn acts_on(&self, signal: i32) {
        if signal == SIGCONT {
            self.continued.set(self.continued.get() + 1);
        }
    }
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
