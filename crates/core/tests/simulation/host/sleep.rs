//! A suspended host: its processes and its monotonic clock stop, while its boot clock and the servers continue.

use super::{KILL_TAKES, Zklock};
use crate::ensemble::Direction;
use crate::world::{Event, World};

/// How long a command whose lease ended during the sleep may live after a host wakes up that isn't busy: a timer wakes
/// zklock, and zklock sends KILL immediately. No program can prevent that moment; the fencing token covers it.
const A_MOMENT: u64 = KILL_TAKES + 10_000_000;

#[derive(Debug, Default)]
pub(super) struct Sleep {
    since: Option<u64>,
    /// Events that were due on the host during the sleep.
    put_off: Vec<Event>,
    /// When the last commands from before the sleep must be gone.
    moment_ends: u64,
}

impl Zklock {
    pub(crate) fn is_asleep(&self) -> bool {
        self.sleep.since.is_some()
    }

    /// Whether its host was suspended at any time.
    pub(crate) fn was_suspended(&self) -> bool {
        self.is_asleep() || self.sleep.moment_ends > 0
    }
}

impl World {
    /// Whether a host sleeps or has just woken up.
    pub(crate) fn has_slept(&self, index: usize) -> bool {
        self.zklocks[index].is_asleep() || self.now < self.zklocks[index].sleep.moment_ends
    }

    pub(super) fn suspend(&mut self, index: usize, lasts: u64) {
        let zklock = &mut self.zklocks[index];
        zklock.sleep.since = Some(self.now);
        // The sleep delays everything that zklock was told to do.
        (zklock.ends_by, zklock.told_to_end) = (None, None);
        self.after(lasts, Event::Resume(index));
    }

    /// Whether an event has to wait until the host wakes up. If so, it is kept.
    pub(crate) fn is_put_off(&mut self, event: Event) -> bool {
        let (Event::WakeWorker(index, _)
        | Event::WakeMonitor(index, _)
        | Event::Command(index)
        | Event::Start(index)
        | Event::Thaw(index, _)) = event
        else {
            return false;
        };
        let is_asleep = self.zklocks[index].is_asleep();
        if is_asleep {
            self.zklocks[index].sleep.put_off.push(event);
        }
        is_asleep
    }

    pub(crate) fn resume(&mut self, index: usize) {
        self.trace.print(self.now, || format!("the host of zklock {index} wakes up"));
        self.wake_up(index);
        self.network_comes_back(index);
        self.expect_command(index);
        // Either process may run first.
        if self.rng.bool() {
            self.watch(index);
        }
        self.thaw_sessions(index);
        self.work(index);
        self.watch(index);
        self.at(self.zklocks[index].sleep.moment_ends, Event::Resumed);
    }

    fn wake_up(&mut self, index: usize) {
        let now = self.now;
        let zklock = &mut self.zklocks[index];
        let Some(since) = zklock.sleep.since.take() else { return };
        zklock.sleep.moment_ends = now + A_MOMENT;
        // A fault that cuts the line may last longer than the sleep.
        zklock.troubled = zklock.troubled.max(now);
        let span = now - since;
        let later = |time: &mut u64| *time = if *time > since { time.saturating_add(span) } else { *time };
        zklock.gone_by.iter_mut().for_each(later);
        later(&mut zklock.worker.busy_until);
        let processes = zklock.command.iter_mut().flat_map(|command| &mut command.processes);
        for process in processes.filter(|process| !process.dead && process.stopped.is_none()) {
            process.ends = process.ends.saturating_add(span);
        }
        let clock = &mut zklock.contender.clock;
        let by_its_clock = clock.boot(now) - clock.boot(since);
        clock.slept += by_its_clock;
        for event in std::mem::take(&mut zklock.sleep.put_off) {
            self.at(now, event);
        }
        self.sessions_slept(index, by_its_clock);
    }

    /// Keeps the network down for a while after some sleeps, as on a laptop.
    fn network_comes_back(&mut self, index: usize) {
        if self.rng.bool() {
            let after = self.rng.u64(0..10_000_000_000);
            self.set_cut(index, &[Direction::ToServer, Direction::ToClient], true);
            self.zklocks[index].troubled = self.zklocks[index].troubled.max(self.now + after);
            self.after(after, Event::Heal(index));
        }
    }
}
