//! One starved zklock after the other holds a lock, and each time a contender on another host waits for it.

use super::call::Call;
use super::share::Share;
use super::table::Row;
use super::{Scene, lock};
use crate::exit_check::{FAILURE, LOST};
use crate::job::{Descendants, Job};
use crate::support::{Cgroup, Proxy, Rng, op};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// How long anything may take beside what the session timeout explains.
const PATIENCE: Duration = Duration::from_mins(2);
/// The default session timeout, which the contender that waits has too.
const DEFAULT_S: u64 = 30;

pub(super) struct Lane {
    pub(super) share: Share,
    /// The session timeout in seconds.
    pub(super) session: u64,
    /// Whether the connection is cut.
    pub(super) is_cut: bool,
    cgroup: Option<Cgroup>,
}

impl Lane {
    pub(super) fn new(share: Share, session: u64, is_cut: bool, longest: Duration) -> Self {
        Self { share, session, is_cut, cgroup: share.cgroup(longest) }
    }

    pub(super) fn lock(&self) -> String {
        format!("/starved/{}", self.name())
    }

    fn name(&self) -> String {
        format!("{}-{}{}", self.share.names().1, self.session, if self.is_cut { "-cut" } else { "" })
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.session)
    }

    /// Runs one round after the other: the first ones until this time, and those with a short session timeout until the
    /// others, which are `slow` ones, have ended too.
    pub(super) fn run(&self, scene: &Scene<'_>, until: Instant, slow: &AtomicUsize, rng: &mut Rng) -> Row {
        let (link, mut row) = (Proxy::to(scene.server), Row::default());
        let goes_on = || Instant::now() < until || (!self.is_slow() && slow.load(Ordering::SeqCst) > 0);
        for number in 0.. {
            if !goes_on() || scene.is_over() {
                break;
            }
            let name = format!("{}-{number}", self.name());
            if let Err(wrong) = self.round(scene, &link, (&name, until), rng, &mut row)
                && !scene.is_over()
            {
                scene.report(format!("{name}: {wrong}"));
            }
        }
        slow.fetch_sub(usize::from(self.is_slow()), Ordering::SeqCst);
        row
    }

    /// Whether it has the default session timeout.
    pub(super) fn is_slow(&self) -> bool {
        self.session == DEFAULT_S
    }

    fn round(
        &self,
        scene: &Scene<'_>,
        link: &Proxy,
        (name, until): (&str, Instant),
        rng: &mut Rng,
        row: &mut Row,
    ) -> Result<(), String> {
        let (session, path) = (self.timeout(), self.lock());
        let part = |rng: &mut Rng, from: u64, to: u64| {
            session * u32::try_from(rng.millis(from, to).as_millis()).expect("small") / 1000
        };
        // Those with a short session timeout may begin after that.
        let left = until.saturating_duration_since(Instant::now()).max(session);
        let duration = part(rng, 2000, 4000).min(left);
        let duration = if self.is_cut { session * 8 } else { duration };
        let descendants = rng.pick(&Descendants::ALL);
        let job = Job { name: name.to_owned(), duration, ignores_term: rng.chance(30), descendants };
        let first = Call::start(
            scene,
            &scene.busy,
            &link.connect_string(),
            (self.share.prefix(), &path, self.session),
            &job,
        );
        let begun = || scene.history.seen(name).begun;
        wait(scene, session * 4 + PATIENCE, || begun() || first.has_ended()).ok_or("it doesn't begin")?;
        // Only now: with hardly any processor time it may take minutes to begin.
        if let Some(zklock) = first.pid() {
            self.share.give(zklock, self.cgroup.as_ref());
            if begun() {
                self.share.check(zklock)?;
            }
        }
        let next_name = format!("{name}-next");
        let job =
            Job { name: next_name.clone(), duration: rng.millis(50, 300), ignores_term: false, descendants };
        let servers = scene.server.connect_string();
        let next = Call::start(scene, &scene.other, &servers, (&[], &path, DEFAULT_S), &job);

        let mut is_stopped_by_cut = false;
        if self.is_cut {
            self.hold(scene, link, part(rng, 500, 750), name, &first, row);
            link.blackhole();
            wait(scene, session / 10, || first.has_ended());
            link.pass();
            self.hold(scene, link, part(rng, 250, 500), name, &first, row);
            if begun() && !first.has_ended() {
                is_stopped_by_cut = true;
                link.blackhole();
                wait(scene, session * 2 + PATIENCE, || {
                    scene.history.seen(&next_name).begun || next.has_ended()
                });
                link.pass();
            }
        }
        self.hold(scene, link, duration + session * 4 + PATIENCE, name, &first, row);
        let both_end = |call: &Call| wait(scene, session * 2 + PATIENCE, || call.has_ended());
        both_end(&first).ok_or("it doesn't end")?;
        scene.history.zklock_ended(name);
        both_end(&next).ok_or("the next doesn't end")?;

        let (seen, reason) = (scene.history.seen(name), first.reason());
        let wrong = |what: &str| Err(format!("{what}:\n{}\nthe next:\n{}", first.said(), next.said()));
        row.commands += usize::from(seen.begun);
        row.refused += usize::from(!seen.begun);
        match first.code() {
            Some(0) if seen.ended => row.completed += 1,
            Some(FAILURE) if !seen.begun => {}
            // Between its start and its first sign of life.
            Some(LOST) if !seen.begun && !self.share.prefix().is_empty() && reason.is_busy_host => {
                row.lost += 1;
            }
            Some(LOST) if seen.begun => {
                lock(&scene.losses).add(name, self.name());
                if is_stopped_by_cut {
                    row.cut += 1;
                } else if self.is_slow() {
                    return wrong("the lock was lost");
                } else if self.share.starves() && !self.is_cut && !reason.is_busy_host {
                    return wrong("the lock was lost, and this host isn't named");
                } else {
                    row.lost += 1;
                    row.busy_host += usize::from(reason.is_busy_host);
                }
                row.by_monitor += usize::from(reason.is_by_monitor);
                row.late = row.late.max(reason.late);
            }
            _ => return wrong("no reason for this exit"),
        }
        if next.code() != Some(0) && !next.reason().is_busy_host {
            return wrong("the next fails");
        }
        Ok(())
    }

    /// Lets time pass while the command runs, and notes how late confirmations are.
    fn hold(&self, scene: &Scene<'_>, link: &Proxy, time: Duration, name: &str, first: &Call, row: &mut Row) {
        let counts = || (link.count(op::MULTI), link.answered(op::MULTI));
        let (mut last, mut is_answered, mut since) = (counts(), true, Instant::now());
        wait(scene, time, || {
            let (now, seen) = (counts(), scene.history.seen(name));
            // While nothing is answered it waits for the servers.
            if seen.begun && !seen.ended && is_answered {
                row.latest = row.latest.max(since.elapsed().saturating_sub(self.timeout() / 12));
            }
            if now != last {
                (is_answered, last, since) = (now.1 != last.1, now, Instant::now());
            }
            first.has_ended()
        });
    }
}

/// Waits until something is true. `None` if it isn't in time, or the run is over.
fn wait(scene: &Scene<'_>, longest: Duration, mut is_true: impl FnMut() -> bool) -> Option<()> {
    let until = Instant::now() + longest;
    while !is_true() {
        if Instant::now() > until || scene.is_over() {
            return None;
        }
        thread::sleep(POLL);
    }
    Some(())
}
