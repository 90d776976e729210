//! Runs each scene on both stages. A difference is a bug in the simulation.

use super::play::Play;
use super::real::Real;
use super::simulated::Simulated;
use super::{Scene, Stage, clients, faults, nodes, sessions, watches};

/// How often a scene runs on real servers at most. If their machine stalls, they do things late or not at all, so only
/// a difference in every run counts.
const TRIES: usize = 3;

fn told(stage: &mut dyn Stage, (name, scene): Scene, again: usize) -> Vec<String> {
    let mut play = Play::begin(stage, &format!("/{name}{}", "-again".repeat(again)));
    scene(&mut play);
    play.end()
}

/// Runs the scenes on real servers in sequence, and each scene on simulated servers of its own.
#[track_caller]
fn compare(servers: usize, scenes: &[&[Scene]]) {
    let mut real = Real::new(servers);
    let version = real.version();
    let mut differences = vec![];
    for (number, scene) in scenes.iter().copied().flatten().enumerate() {
        let found = told(&mut Simulated::new(servers, number as u64, version), *scene, 0);
        let told_by_real = (0..TRIES).map(|again| told(&mut real, *scene, again));
        let mut expected = vec![];
        for told in told_by_real {
            expected = told;
            if expected == found {
                break;
            }
            println!("{} differs on {servers}:\n  {}", scene.0, expected.join("\n  "));
        }
        if expected != found {
            let (expected, found) = (expected.join("\n  "), found.join("\n  "));
            differences.push(format!("{}: real servers\n  {expected}\nthe simulation\n  {found}", scene.0));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn one_server_is_like_a_real_one() {
    compare(1, &[nodes::SCENES, watches::SCENES, sessions::SCENES, clients::SCENES]);
}

#[test]
fn three_servers_are_like_real_ones() {
    compare(3, &[nodes::SCENES, watches::SCENES, sessions::SCENES, sessions::SEVERAL, clients::SCENES]);
}

#[test]
fn faults_of_servers_do_what_they_do_to_real_ones() {
    compare(3, &[faults::SEVERAL, clients::SEVERAL]);
}

#[test]
fn every_story_ends_the_same_for_every_seed() {
    for (servers, scenes) in [
        (1, &[nodes::SCENES, watches::SCENES, sessions::SCENES, clients::SCENES][..]),
        (3, &[nodes::SCENES, watches::SCENES, sessions::SEVERAL, clients::SCENES][..]),
        (3, &[faults::SEVERAL, clients::SEVERAL][..]),
        (5, &[nodes::SCENES, watches::SCENES, sessions::SCENES, clients::SCENES][..]),
    ] {
        for scene in scenes.iter().copied().flatten() {
            for version in [[3, 5], [3, 8], [3, 9]] {
                let told = |seed| told(&mut Simulated::new(servers, seed, version), *scene, 0);
                let first = told(0);
                for seed in 1..4 {
                    assert_eq!(told(seed), first, "{} {seed} {version:?}", scene.0);
                }
            }
        }
    }
}
