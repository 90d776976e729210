use crate::support::{DEADLINE, Ensemble, Observer, wait_until};
use zookeeper::CreateMode;

#[test]
fn survives_its_leader_and_takes_it_back() {
    let ensemble = Ensemble::start();
    assert_eq!(ensemble.followers().len(), 2);
    let observer = Observer::new(&ensemble.connect_string());
    observer.create("/before", "", CreateMode::Persistent);

    let first = ensemble.leader();
    first.kill();
    let second = ensemble.leader();
    assert_ne!(first.port(), second.port());
    assert!(observer.exists("/before"));

    first.restart();
    wait_until("two followers", DEADLINE, || ensemble.followers().len() == 2);
    wait_until("the first to follow", DEADLINE, || first.mode().as_deref() == Some("follower"));
}

#[test]
fn elects_another_when_its_leader_freezes() {
    let ensemble = Ensemble::builder().sync_limit(3).start();
    let first = ensemble.leader();
    first.freeze();
    assert_ne!(ensemble.leader().port(), first.port());
    first.thaw();
    wait_until("two followers", DEADLINE, || ensemble.followers().len() == 2);
}
