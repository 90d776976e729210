//! What the monitor observes: signals, the worker's reports and its death, and the shared page.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::errno::Errno;
use zklock_core::exit::Exit;
use zklock_core::monitor::{Death, MonitorSources, WorkerState};
use zklock_core::pair::{Order, Report, Stage};
use zklock_core::signal::{SIGCHLD, SIGCONT, SIGTSTP};
use zklock_core::time::BootTime;

use super::signals::CaughtSignals;
use crate::link::{MonitorSide, Received};
use crate::process::clock;
use crate::process::proc_stat::is_orphaned;
use crate::process::sys;

/// The pause before signals for which there was no room are sent again, and before another look at a worker that is ending.
const LOOK_AFTER: Duration = Duration::from_millis(50);

/// The sources of the monitor's inputs.
pub(super) struct Sources {
    pub(super) side: MonitorSide,
    pub(super) signals: CaughtSignals,
    /// Signals that were relayed to the worker, and of which the state machine doesn't know yet.
    relayed: VecDeque<i32>,
    /// Relayed signals for which the socket has no room, because the worker is frozen or slow.
    unsent: VecDeque<Order>,
    /// What may be readable, as far as is known: signals, and the socket.
    readable: [bool; 2],
    /// A child may have ended.
    child_changed: bool,
    /// The worker's end of the socket is closed, so the socket is always readable.
    socket_closed: bool,
    /// The exit in the page that was reported.
    exit: Option<Exit>,
    /// Why the worker can't be observed or signalled any more.
    failure: Option<anyhow::Error>,
}

impl Sources {
    pub(super) fn new(side: MonitorSide, signals: CaughtSignals) -> Self {
        let (relayed, unsent) = (VecDeque::new(), VecDeque::new());
        let (readable, child_changed) = ([true; 2], true);
        Self {
            side,
            signals,
            relayed,
            unsent,
            readable,
            child_changed,
            socket_closed: false,
            exit: None,
            failure: None,
        }
    }

    /// Why the worker can't be observed or signalled any more, if it can't.
    pub(super) fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// What was observed, unless that failed.
    fn or_failure<T>(&mut self, observed: Result<Option<T>>) -> Option<T> {
        observed.unwrap_or_else(|error| {
            self.failure = Some(error);
            None
        })
    }

    /// Forwards signals to the worker. Returns whether there was a SIGCONT.
    pub(super) fn forward_signals(&mut self) -> bool {
        let mut continued = false;
        loop {
            // Asked first: what the terminal sends to a command that doesn't run yet has reached none.
            let stage = self.side.page.stage();
            let taken = self.signals.take();
            match self.or_failure(taken).map(|order| (order, order.signal())) {
                Some((_, SIGCHLD)) => self.child_changed = true,
                // Before there is a command, zklock gives its place up to be stopped.
                Some((_, SIGTSTP)) if stage == Stage::Waiting && is_orphaned() => {}
                Some((order, signal)) => {
                    continued |= signal == SIGCONT;
                    self.forward(if stage == Stage::Running { order } else { Order::Signal(signal) });
                }
                None => break,
            }
        }
        self.readable[0] = false;
        self.send_signals();
        continued
    }

    /// Forwards a signal to the worker.
    pub(super) fn forward(&mut self, order: Order) {
        self.relayed.push_back(order.signal());
        self.unsent.push_back(order);
    }

    /// Sends as many signals as the socket has room for. If the worker takes none, the deadline or the count of signals
    /// shows it.
    fn send_signals(&mut self) {
        while let Some(order) = self.unsent.front() {
            let sent = self.side.socket.send(order);
            match sent.as_ref().map_err(io::Error::kind) {
                Err(ErrorKind::WouldBlock) => return,
                // A dead worker needs no signals.
                Ok(())
                | Err(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected) => {}
                Err(_) => self.failure = sent.context("can't forward a signal").err(),
            }
            self.unsent.pop_front();
        }
    }

    /// When to look again at what no event announces: room in the socket for signals, and a worker that ends, if its signal
    /// can't wake this process.
    pub(super) fn look_at(&self) -> Option<BootTime> {
        (self.socket_closed || !self.unsent.is_empty()).then(|| clock::now() + LOOK_AFTER)
    }

    /// The worker may have reported something since the last wait.
    pub(super) fn look_again(&mut self) {
        self.readable[1] = true;
    }

    /// What becomes readable when there may be an input.
    pub(super) fn sources(&self) -> [BorrowedFd<'_>; 2] {
        let socket = if self.socket_closed { self.signals.as_fd() } else { self.side.socket.as_fd() };
        [self.signals.as_fd(), socket]
    }

    /// Notes which of the [sources](Self::sources) may be readable.
    pub(super) fn note(&mut self, readable: [bool; 2]) {
        self.readable = readable;
        // No signal may announce the end of a worker whose end of the socket is closed.
        self.child_changed |= self.socket_closed;
    }
}

impl MonitorSources for Sources {
    fn now(&self) -> BootTime {
        clock::now()
    }

    fn relayed(&mut self) -> Option<i32> {
        if self.relayed.is_empty() && (self.readable[0] || !self.unsent.is_empty()) {
            self.forward_signals();
        }
        self.relayed.pop_front()
    }

    fn death(&mut self) -> Option<Death> {
        if !mem::take(&mut self.child_changed) {
            return None;
        }
        let status = match sys::reap_if_dead(self.side.worker) {
            // It is gone, however that came about.
            Err(error) if error.raw_os_error() == Some(Errno::ECHILD as i32) => Ok(Some(Death::Unknown)),
            status => status.map(|status| status.map(death)).context("can't observe the worker process"),
        };
        let death = self.or_failure(status);
        // What it has reported before is read next.
        self.readable[1] |= death.is_some();
        death
    }

    /// The last report of all is the exit in the page, which comes after all messages.
    fn report(&mut self) -> Option<Report> {
        let received = mem::take(&mut self.readable[1]).then(|| self.side.socket.receive()).transpose();
        let report = match self.or_failure(received.context("can't read from the worker process")) {
            Some(Received::Message(report)) => {
                self.readable[1] = true;
                Some(report)
            }
            Some(Received::Closed) => {
                self.socket_closed = true;
                None
            }
            Some(Received::Nothing) | None => None,
        };
        report.or_else(|| {
            let exit = self.side.page.exit().filter(|&exit| self.exit != Some(exit))?;
            self.exit = Some(exit);
            Some(Report::Exit(exit))
        })
    }

    fn worker(&self) -> WorkerState {
        let page = self.side.page;
        let deadline = page.deadline();
        WorkerState { stage: page.stage(), deadline, taken: page.taken() }
    }
}

fn death(status: ExitStatus) -> Death {
    if status.success() {
        return Death::Success;
    }
    status.signal().map_or(Death::Failure, Death::Killed)
}
