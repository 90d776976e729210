//! Everything that can happen to zklock while it runs, in one channel: one loop reads it.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::Signal;

use crate::alarm::Alarm;
use crate::clock::BootTime;
use crate::job::signals::Arrivals;
use crate::zk::{Reply, SessionChange, SessionKey};

/// One thing that happened.
#[derive(Debug)]
pub enum Event {
    /// Somebody sent zklock a signal.
    Signal(Signal),
    /// A child changed its state (SIGCHLD).
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
    /// Signals, once [`listen`](Self::listen) was called. A handler can't send to the queue.
    arrivals: Option<RefCell<Arrivals>>,
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
    Ok((emitter, Events { queue, sender, bell, alarm, arrivals: None }))
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

impl Events {
    /// From now on the signals that arrive are events too.
    pub fn listen(&mut self, arrivals: Arrivals) {
        self.arrivals = Some(RefCell::new(arrivals));
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
        self.line_up_signals();
        self.queue.try_recv().ok()
    }

    /// Waits until the bell rings or `until` passes; either is then looked at anew.
    fn wait(&self, until: Option<BootTime>) -> io::Result<()> {
        match &self.arrivals {
            Some(arrivals) => self.alarm.wait([self.bell.as_fd(), arrivals.borrow().as_fd()], until)?,
            None => self.alarm.wait([self.bell.as_fd()], until)?,
        }
        // Empty is fine: another bell was taken with an earlier event.
        let _ = self.bell.read();
        Ok(())
    }

    fn line_up_signals(&self) {
        for event in self.arrivals.iter().flat_map(|arrivals| arrivals.borrow_mut().events()) {
            // The queue lives as long as its reader, which is this.
            let _ = self.sender.send(event);
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
