//! Creates many nodes of one session in a queue: more than a machine has room for processes.

use futures::future::join_all;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::wire;

/// Creates the lock path, and a session for the nodes below it.
pub(crate) async fn many_nodes(hosts: &str, path: &str) -> Client {
    let client = wire::connect(hosts).await;
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create(path, b"", &options).await.expect("a lock path");
    client
}

/// Creates `count` contenders' nodes, and returns their paths.
pub(crate) async fn join(client: &Client, path: &str, count: usize) -> Vec<String> {
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let prefixes: Vec<String> = (0..count).map(|_| wire::prefix(path)).collect();
    let creates = prefixes.iter().map(|prefix| client.create(prefix, wire::DATA, &options));
    let sequences = join_all(creates).await.into_iter().map(|created| created.expect("a node").1);
    sequences.zip(&prefixes).map(|(sequence, prefix)| format!("{prefix}{sequence}")).collect()
}
