//! The same, with more and more nodes in the queue. One session makes them all.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures::future::join_all;

use crate::arena::{Arena, Size};
use crate::crowd::{crowd, join};
use crate::drawing;
use crate::job::{self, now};
use crate::relay::{Relay, Side};
use crate::stats::Sample;
use crate::table::{Table, ms};
use crate::waiter::Waiter;
use crate::wire;

/// What was measured with so many nodes in the queue.
#[derive(Debug, Default)]
pub(crate) struct Point {
    /// How many.
    pub(crate) nodes: usize,
    /// The list alone, over a session that is there.
    pub(crate) list: Sample,
    /// A whole `zklock -n`, which finds the lock busy.
    pub(crate) look: Sample,
    /// From the start of zklock until it watches the one ahead.
    pub(crate) enqueue: Sample,
    /// The one ahead gives up: until the next one ahead is watched.
    pub(crate) look_again: Sample,
    /// The holder's node goes, so many are behind, and zklock knew of no other ahead: until the command's
    /// first line.
    pub(crate) wake: Sample,
    /// The same, but when zklock came there were others ahead: it has to look whether they are gone.
    pub(crate) wake_and_look: Sample,
    /// From the server, in KiB, for a look.
    pub(crate) look_bytes: f64,
    /// The same for an entry into the queue and for leaving it.
    pub(crate) enqueue_bytes: f64,
    /// The same for a turn with so many behind: queue, wait, run, release.
    pub(crate) turn_bytes: f64,
}

/// Measures it, says it and draws it.
pub(crate) fn measure(arena: &Arena, size: Size) {
    let sizes: &[usize] = size.pick(&[10, 100, 1000], &[10, 30, 100, 300, 1000, 2000, 3500, 5000]);
    let mut points: Vec<Point> = sizes.iter().map(|&nodes| Point { nodes, ..Point::default() }).collect();
    let relay = Relay::to(&arena.one);
    for _ in 0..size.pick(2, 7) {
        for point in &mut points {
            wire::run(behind_a_crowd(arena, &relay, point));
            wire::run(before_a_crowd(arena, &relay, point));
        }
    }
    tell(&points);
    fs::write(&arena.drawing, drawing::draw(&points)).expect("the drawing");
}

/// The crowd was there before.
async fn behind_a_crowd(arena: &Arena, relay: &Relay, point: &mut Point) {
    let path = format!("/{}", arena.new_name());
    let client = crowd(&arena.one, &path).await;
    let mut names = join(&client, &path, point.nodes).await;
    for _ in 0..3 {
        let began = now();
        client.list_children(&path).await.expect("the children");
        point.list.add(now() - began);

        let (took, code) = look(&arena.one, &path);
        assert_eq!(code, Some(124), "the lock is busy");
        point.look.add(took);

        let mut waiter = Waiter::start(&arena.one, &path, &["true".into()]);
        point.enqueue.add(waiter.waits() - waiter.began);
        let ahead = names.pop().expect("a node");
        let began = now();
        client.delete(&ahead, None).await.expect("a delete");
        point.look_again.add(waiter.waits() - began);
        waiter.leaves();
        names.extend(join(&client, &path, 1).await);
    }
    relay.take();
    look(&relay.hosts(), &path);
    point.look_bytes = from_server(relay);
    let mut waiter = Waiter::start(&relay.hosts(), &path, &["true".into()]);
    waiter.waits();
    waiter.leaves();
    point.enqueue_bytes = from_server(relay);
    wire::close(client).await;
}

/// The crowd comes after zklock: a wake-up must not cost more for that.
async fn before_a_crowd(arena: &Arena, relay: &Relay, point: &mut Point) {
    let path = format!("/{}", arena.new_name());
    let times = arena.dir.join("wake.times");
    let words = job::words(&times, Duration::ZERO, None);
    let client = crowd(&arena.one, &path).await;
    for (hosts, ahead) in [(arena.one.clone(), 1), (arena.one.clone(), 2), (relay.hosts(), 2)] {
        let mut holders = join(&client, &path, ahead).await;
        relay.take();
        let mut waiter = Waiter::start(&hosts, &path, &words);
        waiter.waits();
        let behind = join(&client, &path, point.nodes).await;
        let last = holders.pop().expect("a holder");
        join_all(holders.iter().map(|node| client.delete(node, None))).await;
        let began = now();
        client.delete(&last, None).await.expect("a delete");
        waiter.has_its_turn();
        if hosts == arena.one {
            let sample = if ahead == 1 { &mut point.wake } else { &mut point.wake_and_look };
            sample.add(job::read(&times)[0].began - began);
        }
        fs::remove_file(&times).expect("the file of times");
        join_all(behind.iter().map(|node| client.delete(node, None))).await;
    }
    point.turn_bytes = from_server(relay);
    wire::close(client).await;
}

fn look(hosts: &str, path: &str) -> (f64, Option<i32>) {
    let began = now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_zklock"));
    let status = command.args(["-q", "-n", "-z", hosts, path, "true"]).stderr(Stdio::null()).status();
    (now() - began, status.expect("a process").code())
}

fn from_server(relay: &Relay) -> f64 {
    let passages = relay.take();
    let bytes = passages.iter().filter(|passage| passage.by == Side::Server).map(|passage| passage.bytes);
    bytes.sum::<usize>() as f64 / 1024.0
}

fn tell(points: &[Point]) {
    let mut table = Table::new(&[
        "nodes in the queue",
        "list alone, ms",
        "`zklock -n`, ms",
        "enqueue, ms",
        "look again, ms",
        "wake, ms",
        "wake and look, ms",
        "look, KiB",
        "enqueue and leave, KiB",
        "turn, KiB",
    ]);
    for point in points {
        let times =
            [&point.list, &point.look, &point.enqueue, &point.look_again, &point.wake, &point.wake_and_look];
        let bytes = [point.look_bytes, point.enqueue_bytes, point.turn_bytes];
        let cells = times.iter().map(|sample| ms(sample.median())).chain(bytes.map(ms));
        table.row([point.nodes.to_string()].into_iter().chain(cells));
    }
    table.print("How cost grows");
}
