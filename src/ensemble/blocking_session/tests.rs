use std::thread;

use futures::StreamExt;
use futures::channel::mpsc::unbounded;
use futures::executor::block_on;

use super::super::session::Command;
use super::*;

#[test]
fn a_request_that_is_carried_out_after_a_reconnection_answers_no_later_one() {
    let (commands, mut inbox) = unbounded();
    let (sender, messages) = mpsc::channel();
    let mut session = BlockingSession {
        session: Requester::new(commands),
        messages,
        limit: Limit::Connection(None),
        asked: 0,
        within: Duration::MAX,
        has_chroot: false,
        hosts: String::new(),
        has_credentials: false,
        connect_by: None,
        gives_up: None,
        tells: None,
        wait: None,
        servers: vec![],
        changed: false,
        unwatched: false,
        disconnected: false,
        timeout: None,
    };
    // The connection is lost before the session has taken the request.
    sender.session(SessionKey(0), SessionChange::Disconnected);
    let lost = session.list("/a".into());
    assert!(matches!(lost, Err(BlockingError::Disconnected)), "{lost:?}");
    sender.session(SessionKey(0), SessionChange::Reconnected);
    let wakeups = [session.wait_for_change(None).unwrap(), session.wait_for_change(None).unwrap()];
    assert_eq!(wakeups, [Wakeup::Disconnected, Wakeup::Changed]);
    let server = thread::spawn(move || {
        while let Some(Command::Ask(asker, request)) = block_on(inbox.next()) {
            let reply = match request {
                Request::List(_) => Reply::Listed(Ok(vec![])),
                Request::Get(path) => Reply::Read(path, Err(RequestError::NoNode)),
                other => panic!("{other:?}"),
            };
            sender.reply(SessionKey(0), asker, reply);
        }
    });
    assert_eq!(session.get("/a/b".into()).unwrap().unwrap_err(), RequestError::NoNode);
    drop(session);
    server.join().unwrap();
}
