//! Measures the speed of the simulation with sessions that each create, list, delete and close.

use std::time::Instant;

use crate::client::message::{Reply, Request, SessionChange};
use crate::client::{Client, ClientEvent, HostClock, Settings};
use crate::ensemble::wire::Acl;
use crate::ensemble::{Config, Ensemble};

/// Runs this many sessions in sequence. Returns a number that depends on all their answers.
fn cycles(servers: usize, seed: u64, count: usize) -> (u64, u64) {
    let mut ensemble = Ensemble::new(Config::new(servers, seed));
    while ensemble.leader().is_none() || ensemble.followers().len() + 1 < servers {
        ensemble.next(ensemble.now() + 100_000_000);
    }
    let mut digest = seed;
    let mut mix = |number: u64| digest = crate::ensemble::mix(digest ^ number);
    for cycle in 0..count {
        let settings = Settings {
            zone: 0,
            servers: (0..servers).collect(),
            timeout: 6_000_000_000,
            deadline: None,
            clock: HostClock::default(),
            acl: Acl::OPEN,
            seed: cycle as u64,
        };
        let mut client = Client::open(&mut ensemble, settings, cycle as u64);
        let parent = "/locks/job".to_owned();
        while !client.is_over() {
            let output = ensemble.next(u64::MAX).expect("a session that goes on");
            client.take(&mut ensemble, output);
            while let Some(news) = client.news() {
                match news {
                    ClientEvent::Session(SessionChange::Connected { .. }) => {
                        client.ask(&mut ensemble, 1, Request::MakeParents(parent.clone().into()));
                    }
                    ClientEvent::Reply(1, _) => {
                        let path = format!("{parent}/n-lock-").into();
                        client.ask(&mut ensemble, 2, Request::Create { path, data: vec![] });
                        client.ask(&mut ensemble, 3, Request::List("/locks/job".into()));
                    }
                    ClientEvent::Reply(2, Reply::Created(Ok(created))) => {
                        mix(created.czxid.cast_unsigned());
                    }
                    ClientEvent::Reply(3, Reply::Listed(Ok(names))) => {
                        mix(ensemble.now());
                        let nodes = names.iter().map(|name| format!("{parent}/{name}").into()).collect();
                        client.release(&mut ensemble, nodes);
                    }
                    _ => {}
                }
            }
        }
    }
    (digest, ensemble.events())
}

#[test]
fn a_run_is_the_same_for_the_same_seed() {
    assert_eq!(cycles(3, 7, 50), cycles(3, 7, 50));
    assert_ne!(cycles(3, 7, 50).0, cycles(3, 8, 50).0);
}

#[test]
fn a_session_takes_less_than_a_few_milliseconds() {
    let begin = Instant::now();
    for servers in [1, 3, 5] {
        let begin = Instant::now();
        let (_, events) = cycles(servers, 1, 1_000);
        println!("{servers} servers: {:?} for 1000 cycles, {events} events", begin.elapsed());
    }
    assert!(begin.elapsed().as_secs() < 60);
}

#[test]
fn a_create_that_is_turned_away_is_sent_again() {
    let mut ensemble = Ensemble::new(Config::new(1, 3));
    while ensemble.leader().is_none() {
        ensemble.next(ensemble.now() + 1_000_000);
    }
    let (servers, clock) = (vec![0], HostClock::default());
    let settings =
        Settings { zone: 0, servers, timeout: 6_000_000_000, deadline: None, clock, acl: Acl::OPEN, seed: 1 };
    let mut client = Client::open(&mut ensemble, settings, 1);
    let (mut asked, mut created) = (0, None);
    while created.is_none() {
        let output = ensemble.next(u64::MAX).expect("a session that goes on");
        client.take(&mut ensemble, output);
        match client.news() {
            Some(ClientEvent::Session(SessionChange::Connected { .. })) => {
                ensemble.throttle(0, 2);
                asked = ensemble.now();
                client.ask(&mut ensemble, 1, Request::Create { path: "/n-".into(), data: vec![] });
            }
            Some(ClientEvent::Reply(1, Reply::Created(result))) => {
                created = Some((result.unwrap().path, ensemble.now()));
            }
            _ => {}
        }
    }
    let (path, when) = created.unwrap();
    assert_eq!(path.as_str(), "/n-0000000000");
    assert!(when - asked >= 200_000_000, "two pauses of a tenth of a second");
}
