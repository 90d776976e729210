//! The floor: zklock's client library and requests with a fork and an exec, as the least that a lock could take.
//!
//! It has no lease, no second process, no signal handling and no retries, so it is only good for comparison.

use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};

use async_io::Async;
use futures::AsyncReadExt;
use futures::io::AsyncRead;
use nix::libc::SIGCHLD;
use zookeeper_client::{Acls, Client, CreateMode, Error};

use crate::wire::{DATA, close, connect, prefix, run};

/// Connects, queues, runs `command`, deletes and closes.
pub(crate) fn contend(hosts: &str, path: &str, command: &[&str]) -> ExitCode {
    let (ended, signal) = UnixStream::pair().expect("a pair of sockets");
    signal_hook::low_level::pipe::register(SIGCHLD, signal).expect("a handler");
    run(async {
        let client = connect(hosts).await;
        let node = queue(&client, path).await;
        let mut ended = Async::new(ended).expect("a socket that doesn't block");
        let code = execute(command, &mut ended).await;
        let delete = client.delete(&node, None);
        // The delete and the close are in flight together, as in zklock.
        let closed = close(client);
        delete.await.expect("a delete");
        closed.await;
        ExitCode::from(code)
    })
}

/// Creates and lists together, then waits for the predecessor.
async fn queue(client: &Client, path: &str) -> String {
    let (prefix, options) = (prefix(path), CreateMode::EphemeralSequential.with_acls(Acls::anyone_all()));
    let (create, list) = (client.create(&prefix, DATA, &options), client.list_children(path));
    let (_, sequence) = create.await.expect("a node");
    let sequence = sequence.into_i64();
    let mut children = list.await.expect("the children");
    let node = format!("{prefix}{sequence:010}");
    loop {
        let ahead = children.iter().map(|name| (number(name), name)).filter(|(number, _)| *number < sequence);
        let Some((_, ahead)) = ahead.max() else { return node };
        match client.get_and_watch_data(&format!("{path}/{ahead}")).await {
            Ok((_, _, watch)) => {
                watch.changed().await;
            }
            Err(Error::NoNode) => {}
            Err(error) => panic!("can't watch {ahead}: {error}"),
        }
        // As in zklock, no further listing is needed if it was the only one ahead.
        if children.iter().filter(|name| number(name) < sequence).count() == 1 {
            return node;
        }
        children = client.list_children(path).await.expect("the children");
    }
}

fn number(name: &str) -> i64 {
    name.get(name.len().saturating_sub(10)..).and_then(|digits| digits.parse().ok()).unwrap_or(i64::MAX)
}

async fn execute(command: &[&str], ended: &mut (impl AsyncRead + Unpin)) -> u8 {
    let (program, arguments) = command.split_first().expect("a command");
    let mut child = Command::new(program).args(arguments).spawn().expect("a child");
    loop {
        if let Some(status) = child.try_wait().expect("a child's state") {
            return status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255);
        }
        // The number of bytes doesn't matter: any byte means that the child must be checked again.
        let _ = ended.read(&mut [0; 8]).await.expect("a change of a child");
    }
}
