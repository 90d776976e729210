//! Two processes with one fate: the monitor, which the user started, and its worker.
//!
//! The *monitor* does next to nothing, so that nothing can block it: it forwards signals to the worker, stops and
//! continues like the command, and exits as the worker says. The *worker* has the session, the queue, the lease and the
//! command. If either is killed, or the worker hangs for longer than its lease, the other ends every process of
//! the command, and then deletes the lock nodes. `docs/signals.md` has the details.

mod clean;
mod page;
mod socket;
mod title;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use std::{fs, io, mem, process};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{Pid, getpgrp, getppid, setpgid, setsid};
use zklock_core::exit::Exit;
use zklock_core::pair::{Order, Report, Stage};
use zklock_core::protocol::LockNode;
use zklock_core::signal::SIGCONT;
use zklock_core::time::BootTime;

pub use self::clean::{CleaningNews, clean, start_cleaning};
pub use self::page::Page;
pub use self::socket::{PairSocket, Received};
pub use self::title::is_worker;
use crate::process::clock;
use crate::process::proc_file;
use crate::process::proc_stat;
use crate::process::sys::{self, ForkSide};

/// What zklock was started with and has changed for itself, to be restored for the command.
#[derive(Debug, Clone, Copy)]
pub struct InheritedState {
    /// The signal mask.
    pub mask: SigSet,
    /// Whether SIGCHLD was ignored.
    pub ignores_children: bool,
    /// Whether there is a controlling terminal.
    pub has_terminal: bool,
    /// The nice value, if zklock has a lower one itself.
    pub nice: Option<i32>,
}

/// One of the two processes, after the fork. Every signal is blocked in both.
#[derive(Debug)]
pub enum Side {
    /// The process that the user started.
    Monitor(MonitorSide),
    /// Its child.
    Worker(WorkerSide),
}

/// The monitor's side.
#[derive(Debug)]
pub struct MonitorSide {
    /// The socket to the worker.
    pub socket: PairSocket,
    /// The worker's state, readable without a message.
    pub page: Page,
    /// The worker's process.
    pub worker: Pid,
    /// What zklock was started with.
    pub inherited: InheritedState,
}

/// The worker's side: its loop receives the monitor's messages, and sends reports.
#[derive(Debug)]
pub struct WorkerSide {
    socket: PairSocket,
    page: Page,
    deadline: Option<BootTime>,
    /// How often zklock was continued.
    continued: u64,
    /// The process that the user knows as zklock.
    pub monitor: Pid,
    /// The monitor's process group.
    pub group: Pid,
    /// What zklock was started with.
    pub inherited: InheritedState,
}

/// Checks that `/proc` shows this process: the pids there must be those used for sending signals.
pub fn require_proc() -> io::Result<()> {
    let shown = fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse().ok());
    if shown == Some(process::id()) {
        return Ok(());
    }
    Err(io::Error::other(
        "/proc isn't mounted, or is that of another PID namespace; mount it, as unshare --mount-proc does",
    ))
}

/// Forks into two processes. Nothing may have been started before, not even a thread. `nice` is the value that zklock had,
/// if it has a lower one now.
pub fn split(has_terminal: bool, nice: Option<i32>) -> io::Result<Side> {
    let page = Page::map()?;
    let (monitors, workers) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    let group = getpgrp();
    // Done before the fork so that there is no gap.
    adopt_orphans()?;
    // If SIGCHLD were ignored, the kernel would reap the worker unnoticed.
    let ignores_children = sys::stop_ignoring_children();
    // Signals that arrive meanwhile stay pending until one of the processes can take them.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let inherited = InheritedState { mask, ignores_children, has_terminal, nice };
    match sys::split() {
        Ok(ForkSide::Parent(worker)) => {
            drop(workers);
            Ok(Side::Monitor(MonitorSide { socket: PairSocket(monitors), page, worker, inherited }))
        }
        Ok(ForkSide::Child(monitor)) => {
            drop(monitors);
            // A signal to zklock's group isn't for the worker. From another session, it couldn't start the command there.
            let _ =
                if has_terminal { setpgid(Pid::from_raw(0), Pid::from_raw(0)) } else { setsid().map(drop) };
            Ok(Side::Worker(WorkerSide {
                socket: PairSocket(workers),
                page,
                deadline: None,
                continued: 0,
                monitor,
                group,
                inherited,
            }))
        }
        Err(error) => {
            let _ = mask.thread_set_mask();
            Err(error)
        }
    }
}

/// Makes this process a subreaper: from here on, a descendant that loses its parent becomes its child and can be found.
/// If this fails, nothing is started.
fn adopt_orphans() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

impl WorkerSide {
    /// Makes the worker a subreaper, and has it continued when the monitor dies. Returns `false` if the monitor is
    /// already dead.
    pub fn set_up(&self) -> io::Result<bool> {
        // A fork doesn't inherit the subreaper flag.
        adopt_orphans()?;
        Ok(sys::wake_on_death_of(self.monitor))
    }

    /// Gives the worker its own name and command line. Not part of [`set_up`](Self::set_up), because only a worker that
    /// has something to release needs it, and connecting shouldn't wait for it.
    pub fn take_its_name(&self) {
        title::set(self.monitor);
    }

    /// The next message of the monitor. Signals are counted, so that the monitor sees that they were received.
    ///
    /// # Errors
    /// If none can be received any more.
    pub fn receive(&self) -> io::Result<Received<Order>> {
        let received = self.socket.receive()?;
        if let Received::Message(_) = received {
            self.page.count_taken();
        }
        Ok(received)
    }

    /// Must be called before a signal is handled: a SIGCONT makes every stop that was requested before outdated.
    pub fn before_handling(&mut self, signal: i32) {
        if signal == SIGCONT {
            self.continued += 1;
        }
    }

    /// Joins zklock's process group, in which a command at a terminal is started. Returns what was sent to the monitor before
    /// and isn't received yet, one bit for each signal; `None` if the monitor is ending. Must come before
    /// [`command_begins`](Self::command_begins): from then on the monitor takes it that the command gets the terminal's signals.
    pub fn join_group(&self) -> Option<u64> {
        if !self.inherited.has_terminal {
            return (getppid() == self.monitor).then_some(0);
        }
        setpgid(Pid::from_raw(0), self.group).ok()?;
        let unreceived = proc_file::signals(self.monitor, "ShdPnd").unwrap_or_default();
        (getppid() == self.monitor).then_some(unreceived)
    }

    /// The command is about to be started. Until it is over, the monitor ends it at its `deadline` unless it has ended
    /// before.
    pub fn command_begins(&mut self, deadline: Option<BootTime>) {
        self.page.set_stage(Stage::Running);
        self.set_deadline(deadline);
    }

    /// The command has ended and is reaped, or could not be started; zklock exits with `exit`. The worker counts as
    /// frozen if the rest takes longer than `limit`.
    pub fn command_is_over(&mut self, exit: Exit, limit: Duration) {
        let end = clock::now() + limit;
        self.show_exit(exit);
        self.set_deadline(Some(end));
        self.page.set_stage(Stage::Over);
    }

    /// zklock exits with `exit`, whatever happens from now on. The monitor reads that after this process's end, so no
    /// message can be lost or has to be waited for.
    pub fn show_exit(&self, exit: Exit) {
        self.page.set_exit(exit);
    }

    /// Sets the time from which on the monitor ends the command.
    pub fn set_deadline(&mut self, deadline: Option<BootTime>) {
        if self.deadline == deadline {
            return;
        }
        self.page.set_deadline(deadline);
        let may_sleep_longer = match (mem::replace(&mut self.deadline, deadline), deadline) {
            (Some(old), Some(new)) => new < old,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        // A store wakes no process: a monitor that sleeps until a later moment must be notified.
        if may_sleep_longer {
            self.send(&Report::DeadlineChanged);
        }
    }

    /// Stops zklock as the terminal's signal would have done.
    pub fn suspend(&self, signal: i32) {
        self.send(&Report::Suspend { signal, continued: self.continued });
    }

    /// Continues the monitor if it is stopped: the command is continued, and a shell would have continued both.
    pub fn continue_monitor(&self) {
        if proc_stat::of(self.monitor).is_some_and(|monitor| monitor.is_stopped) {
            let _ = sys::send(self.monitor, SIGCONT);
        }
    }

    /// Shows the monitor that a node with this path, without its number, is about to be created.
    pub fn report_create(&self, path: &str) {
        self.page.set_pending_create(Some(path));
    }

    /// Tells the monitor that zklock owns these nodes, which the monitor may have to delete. `session_timeout` is in
    /// milliseconds.
    pub fn own(&self, session_timeout: u64, nodes: Vec<LockNode>) {
        // A monitor that doesn't know a node finds it by what its path begins with.
        if self.send(&Report::Nodes { session_timeout, nodes }) {
            self.page.set_pending_create(None);
        }
    }

    /// Sends a report. If the monitor is gone or stopped the report is lost, and the worker notices either in another
    /// way. Returns whether it was sent.
    pub fn send(&self, report: &Report) -> bool {
        let sent = self.socket.send(report);
        if let Err(error) = &sent {
            log::debug!("the monitor doesn't listen: {error}");
        }
        sent.is_ok()
    }
}

impl AsFd for WorkerSide {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
