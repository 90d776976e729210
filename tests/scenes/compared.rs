//! Runs each scene on both stages. A difference is a bug in the simulation.

use std::ops::Range;

use super::play::Play;
use super::real::Real;
use super::simulated::Simulated;
use super::{Scene, Stage, clients, drawn, faults, sessions};

/// How often a scene runs on real servers at most. If their machine stalls, they do things late or not at all, so only
/// a difference in every run counts.
const TRIES: usize = 3;

fn told(stage: &mut dyn Stage, scene: &dyn Fn(&mut Play<'_>)) -> Vec<String> {
    let mut play = Play::begin(stage);
    scene(&mut play);
    play.end()
}

/// Plays a scene on both stages. Returns both traces if they differ.
fn difference(real: &mut Real, scene: &dyn Fn(&mut Play<'_>)) -> Option<String> {
    let found = told(&mut Simulated::new(real.size(), 0, real.version()), scene);
    let mut expected = vec![];
    for _ in 0..TRIES {
        expected = told(real, scene);
        if expected == found {
            return None;
        }
    }
    let (expected, found) = (expected.join("\n  "), found.join("\n  "));
    Some(format!("real servers\n  {expected}\nthe simulation\n  {found}"))
}

/// Plays a drawn sequence on both stages. If the traces differ, drops what is not needed for that from the sequence.
fn drawn_difference(real: &mut Real, seed: u64) -> Option<String> {
    let mut acts = drawn::draw(seed);
    let mut told = difference(real, &|play| drawn::play(seed, &acts, play))?;
    println!("the traces of seed {seed} differ");
    for size in [acts.len() / 2, acts.len() / 4, acts.len() / 8, 4, 1] {
        for start in (0..acts.len()).step_by(size).rev() {
            let mut fewer = acts.clone();
            fewer.drain(start..(start + size).min(acts.len()));
            if let Some(difference) = difference(real, &|play| drawn::play(seed, &fewer, play)) {
                (acts, told) = (fewer, difference);
            }
        }
    }
    Some(format!("seed {seed}, of which these make the difference: {acts:#?}\n{told}"))
}

/// Runs the scenes on real servers in sequence, and each scene on simulated servers of its own.
#[track_caller]
fn compare(servers: usize, seeds: Range<u64>, scenes: &[&[Scene]]) {
    let mut real = Real::new(servers);
    let mut differences: Vec<_> = seeds.filter_map(|seed| drawn_difference(&mut real, seed)).collect();
    for (name, scene) in scenes.iter().copied().flatten() {
        differences.extend(difference(&mut real, scene).map(|difference| format!("{name}: {difference}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn one_server_is_like_a_real_one() {
    compare(1, 0..20, &[drawn::SCENES, sessions::SCENES, clients::SCENES]);
}

#[test]
fn three_servers_are_like_real_ones() {
    compare(3, 20..32, &[drawn::SCENES, sessions::SCENES, sessions::SEVERAL, clients::SCENES]);
}

#[test]
fn faults_of_servers_do_what_they_do_to_real_ones() {
    compare(3, 0..0, &[faults::SEVERAL, clients::SEVERAL]);
}

#[test]
fn every_story_ends_the_same_for_every_seed() {
    let same = |servers, name: &str, scene: &dyn Fn(&mut Play<'_>)| {
        for version in [[3, 5], [3, 8], [3, 9]] {
            let told = |seed| told(&mut Simulated::new(servers, seed, version), scene);
            let first = told(0);
            (1..4).for_each(|seed| assert_eq!(told(seed), first, "{name} {servers} {seed} {version:?}"));
        }
    };
    for (servers, scenes) in [
        (1, &[drawn::SCENES, sessions::SCENES, clients::SCENES][..]),
        (3, &[drawn::SCENES, sessions::SEVERAL, clients::SCENES][..]),
        (3, &[faults::SEVERAL, clients::SEVERAL][..]),
        (5, &[drawn::SCENES, sessions::SCENES, clients::SCENES][..]),
    ] {
        scenes.iter().copied().flatten().for_each(|(name, scene)| same(servers, name, scene));
        for seed in 0..20 {
            let acts = drawn::draw(seed);
            same(servers, "drawn", &|play| drawn::play(seed, &acts, play));
        }
    }
}
