//! zklock on a host that is too busy for it: with a low priority or a small quota beside processes that never sleep. On
//! other hosts a contender waits behind it. `scripts/chaos --starved` runs it.
//!
//! | module | content |
//! |---|---|
//! | [`lane`] | one zklock after the other under one lock, with and without a cut; read it first |
//! | [`host`], [`call`] | where a zklock runs; one zklock, and what it said |
//! | [`share`] | how much processor time it gets |
//! | [`table`] | what became of them |

mod call;
mod host;
mod lane;
mod share;
mod table;

use crate::history::History;
use crate::options::Options;
use crate::slack::{Losses, outlived, slack};
use crate::support::{Observer, Rng, Server, hogs, kill_all, new_marker};
use crate::tell_result;
use crate::transaction_log::{removals, transactions};
use host::Host;
use lane::Lane;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use share::Share;
use std::fs;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Busy processes for each processor.
const HOGS: usize = 4;
/// How long the last commands may take to end.
const REST: Duration = Duration::from_mins(4);
/// The session timeouts in seconds: the default, and the shortest that servers usually grant.
const SESSIONS: [u64; 2] = [30, 4];

/// What all lanes share.
pub(crate) struct Scene<'a> {
    program: &'a Path,
    server: &'a Server,
    /// The host of the starved zklocks, and that of those that wait behind them.
    busy: Host,
    other: Host,
    history: History,
    dir: PathBuf,
    marker: String,
    stop: Arc<AtomicBool>,
    /// Who started this program.
    parent: Pid,
    violations: Mutex<Vec<String>>,
    losses: Mutex<Losses>,
}

impl Scene<'_> {
    /// Whether something is wrong, or nobody waits for the result any more.
    fn is_over(&self) -> bool {
        let is_over = self.stop.load(Ordering::SeqCst)
            || getppid() != self.parent
            || self.history.violation().is_some()
            || !lock(&self.violations).is_empty();
        self.stop.fetch_or(is_over, Ordering::SeqCst);
        is_over
    }

    /// Adds to what is wrong.
    fn report(&self, violation: String) {
        lock(&self.violations).push(violation);
    }
}

/// Whichever thread has failed, the rest is told.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn check(options: &Options) -> ExitCode {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let longest = options.duration + REST;
    println!("seed {}; {} busy processes on {processors} processors", options.seed, HOGS * processors);
    // As shipped, so that the servers grant the default session timeout.
    let server = Server::builder().tick_ms(2000).start();
    let dir = tempfile::tempdir().expect("a directory for the run");
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signal_hook::flag::register(signal as i32, Arc::clone(&stop)).expect("a handler");
    }
    let mut scene = Scene {
        program: &options.trials.program,
        server: &server,
        busy: Host::start(),
        other: Host::start(),
        history: History::new(dir.path()),
        dir: dir.path().to_owned(),
        marker: new_marker(),
        stop,
        parent: getppid(),
        violations: Mutex::default(),
        losses: Mutex::default(),
    };
    let observer = Observer::new(&server.connect_string());
    let hogs_live = dir.path().join("hogs-live");
    fs::write(&hogs_live, "").expect("a file");
    scene.busy.tell(&hogs(HOGS * processors, &hogs_live, longest));
    let mut rng = Rng::new(options.seed);
    let shares: Vec<_> = Share::ALL.into_iter().filter(|share| share.is_possible(&scene.busy)).collect();
    table::print_head();
    for &share in &shares {
        let lanes = SESSIONS
            .into_iter()
            .flat_map(|session| [false, true].map(|is_cut| Lane::new(share, session, is_cut, longest)));
        let lanes: Vec<_> = lanes.collect();
        for lane in &lanes {
            observer.mkdirs(&lane.lock());
        }
        let until = Instant::now() + options.duration / u32::try_from(shares.len()).expect("few");
        let slow = AtomicUsize::new(lanes.iter().filter(|lane| lane.is_slow()).count());
        thread::scope(|scope| {
            let run = |lane| {
                let (scene, slow, mut rng) = (&scene, &slow, rng.fork());
                move || Lane::run(lane, scene, until, slow, &mut rng)
            };
            let running: Vec<_> = lanes.iter().map(run).map(|run| scope.spawn(run)).collect();
            for (lane, row) in lanes.iter().zip(running) {
                table::print(lane, &row.join().expect("a lane that doesn't fail"));
            }
        });
    }
    fs::remove_file(hogs_live).expect("our file");
    kill_all(&scene.marker);
    let slack = slack(&scene.history.last_seen(), &removals(&transactions(once(server.data()))));
    let losses = scene.losses.get_mut().unwrap_or_else(PoisonError::into_inner);
    println!(
        "\ntime from a stopped command's last sign of life to the end of its session:\n{}",
        losses.table(&slack)
    );
    let violations = scene.violations.get_mut().unwrap_or_else(PoisonError::into_inner);
    violations.extend(scene.history.violation());
    violations.extend(outlived(&slack));
    for violation in violations.iter() {
        println!(
            "\nWRONG: {violation}\n\nthe history (milliseconds, event, contender):\n{}",
            scene.history.excerpt()
        );
    }
    tell_result(options, !violations.is_empty())
}
