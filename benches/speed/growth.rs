//! Measures how costs grow with the number of nodes in the queue, all of which belong to one session.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures::future::join_all;

use crate::contestant::Contestant;
use crate::environment::{Environment, Servers, Size, alternating};
use crate::job::{self, now};
use crate::many_nodes::{join, many_nodes};
use crate::relay::{Relay, Side};
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};
use crate::waiter::Waiter;
use crate::wire;

/// The costs with a given number of nodes in the queue.
#[derive(Debug, Default)]
pub(crate) struct Point {
    /// The number of nodes.
    pub(crate) nodes: usize,
    /// A listing over an existing session.
    pub(crate) list: Sample,
    /// A whole `zklock -n`, which finds the lock busy.
    pub(crate) look: Sample,
    /// From the start of zklock until it watches its predecessor.
    pub(crate) enqueue: Sample,
    /// From the moment the predecessor gives up until zklock watches the next one.
    pub(crate) look_again: Sample,
    /// From the delete of the holder's node to the command's first line, if that was the only node ahead and `nodes`
    /// are behind.
    pub(crate) wake: Sample,
    /// The same if there were other nodes ahead when zklock queued, so that it has to list again.
    pub(crate) wake_and_look: Sample,
    /// The KiB that the server sends for a `zklock -n`.
    pub(crate) look_bytes: f64,
    /// The KiB that it sends to a contender that queues and gives up.
    pub(crate) enqueue_bytes: f64,
    /// The KiB that it sends to a contender that queues, waits, runs and releases, with `nodes` behind.
    pub(crate) run_bytes: f64,
}

/// Measures the costs, prints a table and draws them.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let sizes: &[usize] = size.pick(&[10, 100, 1000], &[10, 30, 100, 300, 1000, 2000, 3500, 5000]);
    let points =
        || -> Vec<Point> { sizes.iter().map(|&nodes| Point { nodes, ..Point::default() }).collect() };
    let mut builds: Vec<_> = Contestant::builds(environment, Servers::One)
        .into_iter()
        .map(|build| (build.zklock(environment).to_owned(), points()))
        .collect();
    let relay = Relay::to(&environment.one);
    for round in 0..size.pick(2, 7) {
        for index in 0..sizes.len() {
            for (zklock, points) in alternating(round, &mut builds) {
                wire::run(with_nodes_ahead(environment, zklock, &relay, &mut points[index]));
                wire::run(with_nodes_behind(environment, zklock, &relay, &mut points[index]));
            }
        }
    }
    let points = &builds[0].1;
    print("How cost grows", points);
    if let Some((_, before)) = builds.get(1) {
        print("How cost grows, build before", before);
        print_ratios(points, before);
    }
}

/// The costs with `nodes` ahead.
async fn with_nodes_ahead(environment: &Environment, zklock: &str, relay: &Relay, point: &mut Point) {
    let path = format!("/{}", environment.new_name());
    let client = many_nodes(&environment.one, &path).await;
    let mut names = join(&client, &path, point.nodes).await;
    for _ in 0..3 {
        let began = now();
        client.list_children(&path).await.expect("the children");
        point.list.add(now() - began);

        let (took, code) = look(zklock, &environment.one, &path);
        assert_eq!(code, Some(124), "the lock is busy");
        point.look.add(took);

        let mut waiter = Waiter::start(zklock, &environment.one, &path, &["true".into()]);
        point.enqueue.add(waiter.wait_until_queued() - waiter.began);
        let ahead = names.pop().expect("a node");
        let began = now();
        client.delete(&ahead, None).await.expect("a delete");
        point.look_again.add(waiter.wait_until_queued() - began);
        waiter.give_up();
        names.extend(join(&client, &path, 1).await);
    }
    relay.take();
    look(zklock, &relay.hosts(), &path);
    point.look_bytes = from_server(relay);
    let mut waiter = Waiter::start(zklock, &relay.hosts(), &path, &["true".into()]);
    waiter.wait_until_queued();
    waiter.give_up();
    point.enqueue_bytes = from_server(relay);
    wire::close(client).await;
}

/// The costs of a wake-up with `nodes` behind, which shouldn't depend on their number.
async fn with_nodes_behind(environment: &Environment, zklock: &str, relay: &Relay, point: &mut Point) {
    let path = format!("/{}", environment.new_name());
    let times = environment.dir.join("wake.times");
    let words = job::words(&times, Duration::ZERO, None);
    let client = many_nodes(&environment.one, &path).await;
    for (hosts, ahead) in [(environment.one.clone(), 1), (environment.one.clone(), 2), (relay.hosts(), 2)] {
        let mut holders = join(&client, &path, ahead).await;
        relay.take();
        let mut waiter = Waiter::start(zklock, &hosts, &path, &words);
        waiter.wait_until_queued();
        let behind = join(&client, &path, point.nodes).await;
        let last = holders.pop().expect("a holder");
        join_all(holders.iter().map(|node| client.delete(node, None))).await;
        let began = now();
        client.delete(&last, None).await.expect("a delete");
        waiter.wait_until_done();
        if hosts == environment.one {
            let sample = if ahead == 1 { &mut point.wake } else { &mut point.wake_and_look };
            sample.add(job::read(&times)[0].began - began);
        }
        fs::remove_file(&times).expect("the file of times");
        join_all(behind.iter().map(|node| client.delete(node, None))).await;
    }
    point.run_bytes = from_server(relay);
    wire::close(client).await;
}

fn look(zklock: &str, hosts: &str, path: &str) -> (f64, Option<i32>) {
    let began = now();
    let mut command = Command::new(zklock);
    let status = command.args(["-q", "-n", "-z", hosts, path, "true"]).stderr(Stdio::null()).status();
    (now() - began, status.expect("a process").code())
}

fn from_server(relay: &Relay) -> f64 {
    let passages = relay.take();
    let bytes = passages.iter().filter(|passage| passage.by == Side::Server).map(|passage| passage.bytes);
    bytes.sum::<usize>() as f64 / 1024.0
}

const HEAD: [&str; 10] = [
    "nodes in the queue",
    "list alone, ms",
    "`zklock -n`, ms",
    "enqueue, ms",
    "look again, ms",
    "wake, ms",
    "wake and look, ms",
    "look, KiB",
    "enqueue and leave, KiB",
    "whole run, KiB",
];

impl Point {
    /// The medians of the times, and the bytes, in the order of the columns.
    fn values(&self) -> [f64; 9] {
        [
            self.list.median(),
            self.look.median(),
            self.enqueue.median(),
            self.look_again.median(),
            self.wake.median(),
            self.wake_and_look.median(),
            self.look_bytes,
            self.enqueue_bytes,
            self.run_bytes,
        ]
    }
}

fn print(title: &str, points: &[Point]) {
    let mut table = Table::new(&HEAD);
    for point in points {
        table.row([point.nodes.to_string()].into_iter().chain(point.values().map(ms)));
    }
    table.print(title);
}

fn print_ratios(points: &[Point], before: &[Point]) {
    let head = HEAD.map(|name| name.trim_end_matches(", ms").trim_end_matches(", KiB"));
    let mut table = Table::new(&head);
    for (point, before) in points.iter().zip(before) {
        let ratios = point.values().into_iter().zip(before.values()).map(|(own, before)| ratio(own, before));
        table.row([point.nodes.to_string()].into_iter().chain(ratios));
    }
    table.print("How cost grows, zklock to the build before");
}
