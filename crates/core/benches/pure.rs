//! Times the pure parts, which run for each listing of a queue, and a listing may have thousands of nodes.
//!
//! `cargo bench --bench pure` compares the times with those of the previous run.
#![allow(missing_docs, reason = "criterion's macros generate public functions without documentation")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use uuid::Uuid;
use zklock_core::lease::Lease;
use zklock_core::queue::name::{Family, Mode, Name, prefix};
use zklock_core::queue::order;
use zklock_core::queue::record::{Process, Record};
use zklock_core::time::BootTime;

/// The numbers of contenders in a listing.
const QUEUES: [i32; 5] = [10, 100, 500, 1000, 5000];

fn node(sequence: i32) -> String {
    // Scattered ids, so that the order of the names differs from the order of the numbers.
    let id = u128::from(sequence.unsigned_abs()).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{}{sequence:010}", prefix(Family::Curator, Mode::Exclusive, Uuid::from_u128(id)))
}

/// The children of a lock path. A server lists them in no particular order; here they are sorted by name.
fn children(count: i32) -> Vec<String> {
    let mut names: Vec<String> = (0..count).map(node).collect();
    names.sort();
    names
}

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    for count in QUEUES {
        let (children, last) = (children(count), node(count - 1));
        group.throughput(Throughput::Elements(count.unsigned_abs().into()));
        group.bench_with_input(BenchmarkId::new("last", count), &children, |bencher, children| {
            bencher.iter(|| order::decide(black_box(children), black_box(&last)));
        });
        group.bench_with_input(BenchmarkId::new("look", count), &children, |bencher, children| {
            bencher.iter(|| order::decide_as_next(black_box(children), Family::Curator, Mode::Exclusive));
        });
    }
    group.finish();
}

fn names(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    let id = Uuid::from_u128(7);
    for family in [Family::Curator, Family::CuratorRw, Family::Kazoo] {
        let name = format!("{}0000001234", prefix(family, Mode::Shared, id));
        group.bench_function(family.to_string(), |bencher| bencher.iter(|| Name::parse(black_box(&name))));
    }
    let other_name = "a-node-that-is-no-contender-0000001234";
    group.bench_function("other_name", |bencher| bencher.iter(|| Name::parse(black_box(other_name))));
    group.finish();
}

fn leases(criterion: &mut Criterion) {
    let second = Duration::from_secs(1);
    let mut lease = Lease::new(BootTime::from_nanos(0), 30 * second);
    let mut now = BootTime::from_nanos(0);
    criterion.bench_function("lease/confirm", |bencher| {
        bencher.iter(|| {
            now = now + second;
            lease.confirm(black_box(now), now) && lease.stop_at(second) > now
        });
    });
}

fn records(criterion: &mut Criterion) {
    let record = Record {
        version: 1,
        host: "host17.example.org".to_owned(),
        pid: 7,
        user: "build".to_owned(),
        program: "job".to_owned(),
        label: Some("build 1042".to_owned()),
        mode: Mode::Exclusive.word().to_owned(),
        slots: 1,
        has_slot: false,
        stopped: false,
        held_after_ms: None,
        process: Some(Box::new(Process {
            boot: "4d3f89d0-7b59-451a-9f0a-3c0f3a5b7d11".to_owned(),
            namespace: "pid:[4026531836]".to_owned(),
            started: 1_234_567,
        })),
        revoked_by: None,
    };
    let bytes = record.to_bytes();
    criterion.bench_function("record/write", |bencher| bencher.iter(|| black_box(&record).to_bytes()));
    criterion.bench_function("record/read", |bencher| bencher.iter(|| Record::from_bytes(black_box(&bytes))));
}

criterion_group!(benches, decisions, names, leases, records);
criterion_main!(benches);
