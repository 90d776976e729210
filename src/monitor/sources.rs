//! What the monitor observes: signals, the worker's reports and its death, and the shared page.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use zklock_core::monitor::{Death, MonitorSources, WorkerState};
use zklock_core::pair::{Order, Report};
use zklock_core::signal::{SIGCHLD, SIGCONT};
use zklock_core::time::BootTime;

use super::signals::CaughtSignals;
use crate::link::{MonitorSide, Received};
use crate::process::clock;
use crate::process::sys;

/// The pause before signals for which there was no room are sent again.
const RESEND_AFTER: Duration = Duration::from_millis(50);

/// The sources of the monitor's inputs.
pub(super) struct Sources {
    pub(super) side: MonitorSide,
    pub(super) signals: CaughtSignals,
    /// Signals that were relayed to the worker, and of which the state machine doesn't know yet.
    relayed: VecDeque<i32>,
    /// Relayed signals for which the socket has no room, because the worker is frozen or slow, or the kernel no memory.
    unsent: VecDeque<i32>,
    /// The worker's end of the socket is closed, so the socket is always readable.
    socket_closed: bool,
}

impl Sources {
    pub(super) fn new(side: MonitorSide, signals: CaughtSignals) -> Self {
        Self { side, signals, relayed: VecDeque::new(), unsent: VecDeque::new(), socket_closed: false }
    }

    /// Forwards signals to the worker. Returns whether there was a SIGCONT.
    pub(super) fn forward_signals(&mut self) -> bool {
        let mut continued = false;
        for signal in self.signals.take().into_iter().filter(|&signal| signal != SIGCHLD) {
            continued |= signal == SIGCONT;
            self.relayed.push_back(signal);
            self.unsent.push_back(signal);
        }
        self.send_signals();
        continued
    }

    /// Sends as many signals as the socket has room for. If the worker takes none, the deadline or the count of signals
    /// shows it.
    fn send_signals(&mut self) {
        while let Some(&signal) = self.unsent.front() {
            let sent = self.side.socket.send(&Order::Signal(signal)).map_err(|error| error.kind());
            match sent {
                // A dead worker needs no signals.
                Ok(())
                | Err(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected) => {
                    self.unsent.pop_front()
                }
                // No room, or no memory.
                Err(_) => return,
            };
        }
    }

    /// When to try again to send signals, if there are any: no event announces room in the socket.
    pub(super) fn resend_at(&self) -> Option<BootTime> {
        (!self.unsent.is_empty()).then(|| clock::now() + RESEND_AFTER)
    }

    /// Tells the worker that the kernel didn't stop zklock.
    pub(super) fn tell_not_stopped(&self) {
        // If the worker is gone or frozen, its death or its deadline shows it.
        let _ = self.side.socket.send(&Order::NotStopped);
    }

    /// What becomes readable when there may be an input.
    pub(super) fn readable(&self) -> [BorrowedFd<'_>; 3] {
        let [interrupts, others] = self.signals.sources();
        let socket = if self.socket_closed { others } else { self.side.socket.as_fd() };
        [interrupts, others, socket]
    }
}

impl MonitorSources for Sources {
    fn now(&self) -> BootTime {
        clock::now()
    }

    fn relayed(&mut self) -> Option<i32> {
        if self.relayed.is_empty() {
            self.forward_signals();
        }
        self.relayed.pop_front()
    }

    fn death(&mut self) -> Option<Death> {
        let worker = self.side.worker;
        sys::is_dead(worker).then(|| death(sys::reap(worker).ok()))
    }

    fn report(&mut self) -> Option<Report> {
        match self.side.socket.receive() {
            Received::Message(report) => Some(report),
            Received::Nothing => None,
            Received::Closed => {
                self.socket_closed = true;
                None
            }
        }
    }

    fn worker(&self) -> WorkerState {
        let page = self.side.page;
        let deadline = page.deadline().map(|deadline| deadline.act);
        WorkerState { stage: page.stage(), deadline, taken: page.taken() }
    }
}

fn death(status: Option<ExitStatus>) -> Death {
    match status {
        Some(status) if status.success() => Death::Success,
        Some(status) => status.signal().map_or(Death::Failure, Death::Killed),
        None => Death::Unknown,
    }
}
