//! All events of a running zklock, which one loop handles: of its session, its command, its monitor and its threads.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use anyhow::{Context, Result};
use nix::libc::SI_KERNEL;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use zklock_core::pair::Order;
use zklock_core::run::Input;
use zklock_core::signal::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
use zklock_core::time::BootTime;

use crate::link::{Received, WorkerSide};
use crate::process::alarm::Alarm;
use crate::process::bell::Bell;
use crate::process::persist::persist;
use crate::process::sys;
use crate::worker::main_session::MainSession;

/// What the terminal sends to the process group of zklock. The worker is in it only while it starts the command.
pub(super) const KEYS_AT_START: [i32; 6] = [SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU];

/// The reading end of the channel.
#[derive(Debug)]
pub(super) struct Events {
    queue: Receiver<Input>,
    emitter: Emitter,
    alarm: Alarm,
    /// The worker's other sources of events, once [`listen`](Self::listen) was called.
    sources: Option<Sources>,
}

#[derive(Debug)]
struct Sources {
    signals: SignalFd,
    monitor_died: Cell<bool>,
    /// Whether signals and the socket may be readable.
    readable: Cell<[bool; 2]>,
}

/// A sending end of the channel.
#[derive(Debug, Clone)]
pub(super) struct Emitter {
    queue: Sender<Input>,
    bell: Arc<Bell>,
}

/// Creates the channel.
pub(super) fn channel() -> io::Result<(Emitter, Events)> {
    let (sender, queue) = mpsc::channel();
    let emitter = Emitter { queue: sender, bell: Arc::new(Bell::new()?) };
    Ok((emitter.clone(), Events { queue, emitter, alarm: Alarm::new()?, sources: None }))
}

impl Emitter {
    /// Adds `event` to the channel. It is silently dropped if there is no reader any more: zklock is exiting then.
    pub(super) fn emit(&self, event: Input) {
        if self.queue.send(event).is_ok() {
            self.bell.ring();
        }
    }

    /// The same on the loop's own thread, which needn't be woken.
    pub(super) fn add(&self, event: Input) {
        let _ = self.queue.send(event);
    }

    /// The bell that wakes the loop.
    pub(super) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }
}

impl Events {
    /// Also reports the monitor's messages, changes of children and keys as events from now on. All signals must be
    /// blocked.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&sys::set_of(KEYS_AT_START.into_iter().chain([SIGCHLD])), flags)?;
        self.sources =
            Some(Sources { signals, monitor_died: Cell::new(false), readable: Cell::new([true; 2]) });
        Ok(())
    }

    /// The next pending event, if any. The session may proceed before that.
    ///
    /// # Errors
    /// If a source can't be read: the loop would miss events from now on.
    pub(super) fn pending(
        &self,
        worker: Option<&mut WorkerSide>,
        mut session: Option<&mut MainSession>,
    ) -> Result<Option<Input>> {
        if let (Some(sources), Some(worker)) = (&self.sources, &worker) {
            sources.read(worker, |event| self.emitter.add(event))?;
        }
        while self.emitter.bell.was_rung() {
            if let Some(session) = &mut session {
                session.proceed();
            }
        }
        let Ok(event) = self.queue.try_recv() else { return Ok(None) };
        if let (Input::Signal(signal) | Input::Key(signal), Some(worker)) = (&event, worker) {
            worker.before_handling(*signal);
        }
        Ok(Some(event))
    }

    /// Signals or messages may have come since the last wait, because something took a while.
    pub(super) fn look_again(&self) {
        self.sources.iter().for_each(|sources| sources.readable.set([true; 2]));
    }

    /// Waits until the bell rings or `until` passes; the caller then checks for events and the time again.
    pub(super) fn wait(&self, worker: Option<&WorkerSide>, until: Option<BootTime>) -> io::Result<()> {
        self.look_again();
        self.emitter.bell.sleep(|bell| {
            let Some((sources, worker)) = self.sources.as_ref().zip(worker) else {
                return self.alarm.wait([bell], until).map(|[rung]| rung);
            };
            let signals = sources.signals.as_fd();
            // A socket is always readable once its other end is closed.
            let socket = if sources.monitor_died.get() { signals } else { worker.as_fd() };
            let [rung, signals, socket] = self.alarm.wait([bell, signals, socket], until)?;
            sources.readable.set([signals, socket]);
            Ok(rung)
        })
    }
}

impl Sources {
    fn read(&self, worker: &WorkerSide, emit: impl Fn(Input)) -> Result<()> {
        let [signals, socket] = self.readable.take();
        // Before a change of a child: a stop of the command is outdated if zklock was continued before.
        while (socket || signals) && !self.monitor_died.get() {
            match worker.receive().context("can't read from zklock's first process")? {
                Received::Message(Order::Signal(signal)) => emit(Input::Signal(signal)),
                Received::Message(Order::Key(signal)) => emit(Input::Key(signal)),
                Received::Nothing => break,
                Received::Closed => {
                    self.monitor_died.set(true);
                    emit(Input::MonitorDied);
                }
            }
        }
        // One event is enough for all children, because its handler checks every child.
        let mut any = false;
        while signals
            && let Some(info) = persist(|| self.signals.read_signal()).context("can't read signals")?
        {
            let signal = i32::try_from(info.ssi_signo)?;
            any |= signal == SIGCHLD;
            // The command may have begun too late to get it.
            if KEYS_AT_START.contains(&signal) && info.ssi_code == SI_KERNEL {
                emit(Input::Signal(signal));
            }
        }
        if any {
            emit(Input::Child);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::process::clock;

    #[test]
    fn events_come_in_the_order_they_were_sent() -> Result<()> {
        let (emitter, events) = channel()?;
        for signal in [15, 1] {
            emitter.emit(Input::Signal(signal));
        }
        assert!(matches!(events.pending(None, None)?, Some(Input::Signal(15))));
        assert!(matches!(events.pending(None, None)?, Some(Input::Signal(1))));
        assert!(events.pending(None, None)?.is_none());
        Ok(())
    }

    #[test]
    fn a_deadline_ends_the_wait_and_an_event_ends_it_sooner() -> Result<()> {
        let (emitter, events) = channel()?;
        let start = clock::now();
        while clock::now().since(start) < Duration::from_millis(20) {
            events.wait(None, Some(start + Duration::from_millis(20)))?;
        }
        assert!(events.pending(None, None)?.is_none());

        let sender = thread::spawn(move || emitter.emit(Input::Child));
        let much_later = start + Duration::from_mins(1);
        let event = loop {
            if let Some(event) = events.pending(None, None)? {
                break event;
            }
            events.wait(None, Some(much_later))?;
            assert!(clock::now() < much_later);
        };
        assert!(matches!(event, Input::Child));
        assert!(sender.join().is_ok());
        Ok(())
    }
}
