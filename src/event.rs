//! Everything that can happen to zklock while it runs, in one channel: one loop reads it.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::alarm::Alarm;
use crate::clock::BootTime;
use crate::pair::{Ear, Heard, Order};
use crate::planted::{Mistake, planted};
use crate::zk::{Outlet, Reply, SessionChange, SessionKey};

/// One thing that happened.
#[derive(Debug)]
pub enum Event {
    /// Somebody sent zklock a signal.
    Signal(Signal),
    /// zklock was to stop, and the kernel didn't do it: nobody could continue it.
    NotStopped,
    /// The monitor is dead.
    MonitorDied,
    /// At least one child changed its state (SIGCHLD).
    Child,
    /// The session with the ensemble came, went, or is in doubt.
    Session(SessionKey, SessionChange),
    /// The answer to a request, or a watch that fired; for the lock with this index.
    Reply(SessionKey, usize, Reply),
}

/// The reading end of the channel.
#[derive(Debug)]
pub struct Events {
    queue: Receiver<Event>,
    sender: Sender<Event>,
    bell: Arc<EventFd>,
    alarm: Alarm,
    /// What the worker of a pair hears besides, once [`listen`](Self::listen) was called.
    senses: Option<Senses>,
}

#[derive(Debug)]
struct Senses {
    /// SIGCHLD.
    children: SignalFd,
    monitor: Ear,
    monitor_died: Cell<bool>,
}

/// A sending end of the channel.
#[derive(Debug, Clone)]
pub struct Emitter {
    queue: Sender<Event>,
    bell: Arc<EventFd>,
}

/// Makes the channel.
pub fn channel() -> io::Result<(Emitter, Events)> {
    let (sender, queue) = mpsc::channel();
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
    let alarm = Alarm::new()?;
    let emitter = Emitter { queue: sender.clone(), bell: Arc::clone(&bell) };
    Ok((emitter, Events { queue, sender, bell, alarm, senses: None }))
}

impl Emitter {
    /// Puts `event` in line. Lost without a word once nobody reads any more: zklock is on its way out then.
    pub fn emit(&self, event: Event) {
        if self.queue.send(event).is_ok() {
            // Full is fine: the counter only has to be above zero.
            let _ = self.bell.write(1);
        }
    }
}

impl Outlet for Emitter {
    fn session(&self, session: SessionKey, change: SessionChange) {
        self.emit(Event::Session(session, change));
    }

    fn reply(&self, session: SessionKey, number: usize, reply: Reply) {
        self.emit(Event::Reply(session, number, reply));
    }
}

impl Events {
    /// From now on what the monitor says, and what becomes of children, are events too. SIGCHLD must be blocked.
    pub fn listen(&mut self, monitor: Ear) -> io::Result<()> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let children = SignalFd::with_flags(&SigSet::from(Signal::SIGCHLD), flags)?;
        self.senses = Some(Senses { children, monitor, monitor_died: Cell::new(false) });
        Ok(())
    }

    /// Whether the monitor is known to be dead.
    pub fn monitor_died(&self) -> bool {
        self.senses.as_ref().is_some_and(|senses| senses.monitor_died.get())
    }

    /// The next event, or `None` once `until` has passed. Without `until` it waits for ever.
    pub fn next(&self, until: Option<BootTime>) -> io::Result<Option<Event>> {
        loop {
            if let Some(event) = self.pending() {
                return Ok(Some(event));
            }
            if until.is_some_and(|until| BootTime::now() >= until) {
                return Ok(None);
            }
            self.wait(until)?;
        }
    }

    /// An event that has already happened, if there is one.
    pub fn pending(&self) -> Option<Event> {
        if let Some(senses) = &self.senses {
            // The queue lives as long as its reader, which is this.
            senses.perceive(|event| drop(self.sender.send(event)));
        }
        let event = self.queue.try_recv().ok()?;
        if let (Event::Signal(signal), Some(senses)) = (&event, &self.senses) {
            senses.monitor.acts_on(*signal);
        }
        Some(event)
    }

    /// Waits until the bell rings or `until` passes; either is then looked at anew.
    fn wait(&self, until: Option<BootTime>) -> io::Result<()> {
        let bell = self.bell.as_fd();
        match &self.senses {
            // At its end a line can be read for ever.
            Some(senses) if senses.monitor_died.get() => {
                self.alarm.wait([bell, senses.children.as_fd()], until)?;
            }
            Some(senses) => {
                self.alarm.wait([bell, senses.children.as_fd(), senses.monitor.as_fd()], until)?;
            }
            None => self.alarm.wait([bell], until)?,
        }
        // Empty is fine: another bell was taken with an earlier event.
        let _ = self.bell.read();
        Ok(())
    }
}

impl Senses {
    fn perceive(&self, tell: impl Fn(Event)) {
        while !self.monitor_died.get() {
            match self.monitor.hear() {
                Heard::Word(Order::Signal(number)) => {
                    if let Ok(signal) = Signal::try_from(number) {
                        tell(Event::Signal(signal));
                    }
                }
                Heard::Word(Order::NotStopped) => tell(Event::NotStopped),
                Heard::Silence => break,
                Heard::End => {
                    self.monitor_died.set(true);
                    if planted(Mistake::OrphanedWorker) {
                        break;
                    }
                    tell(Event::MonitorDied);
                }
            }
        }
        // One stands for all: whoever hears of it looks at every child.
        let mut any = false;
        while let Ok(Some(_)) = self.children.read_signal() {
            any = true;
        }
        if any {
            tell(Event::Child);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn events_come_in_the_order_they_were_sent() -> io::Result<()> {
        let (emitter, events) = channel()?;
        for signal in [Signal::SIGTERM, Signal::SIGHUP] {
            emitter.emit(Event::Signal(signal));
        }
        assert!(matches!(events.next(None)?, Some(Event::Signal(Signal::SIGTERM))));
        assert!(matches!(events.next(None)?, Some(Event::Signal(Signal::SIGHUP))));
        assert!(events.pending().is_none());
        Ok(())
    }

    #[test]
    fn a_deadline_ends_the_wait_and_an_event_ends_it_sooner() -> io::Result<()> {
        let (emitter, events) = channel()?;
        let start = BootTime::now();
        assert!(events.next(Some(start + Duration::from_millis(20)))?.is_none());
        assert!(BootTime::now().since(start) >= Duration::from_millis(20));

        let sender = thread::spawn(move || emitter.emit(Event::Child));
        assert!(matches!(events.next(Some(start + Duration::from_mins(1)))?, Some(Event::Child)));
        assert!(sender.join().is_ok());
        Ok(())
    }
}
