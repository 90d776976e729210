//! gunicorn: its first process replaces the others at HUP, and ends them at TERM, when they have answered their requests.

use super::{SINGLE, clear, go, has, has_come, python, serve};
use crate::support::{Case, DEADLINE, Running, try_for, wait_until};
use nix::sys::signal::Signal;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Sends a request to the socket, and returns when it has begun.
#[track_caller]
pub(super) fn request(case: &Case) -> UnixStream {
    let connect = || UnixStream::connect(socket(case)).ok();
    let mut stream = try_for(DEADLINE, connect).expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("a request");
    stream
}

/// The whole answer; nothing if there is none.
pub(super) fn answer(mut stream: UnixStream) -> String {
    stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
    let mut text = String::new();
    stream.read_to_string(&mut text).ok();
    text
}

pub(super) fn socket(case: &Case) -> PathBuf {
    case.dir().join("socket")
}

/// A server that is answering a request.
#[track_caller]
fn server(case: &Case, options: Option<&[&str]>) -> (Running, UnixStream) {
    clear(case);
    let bind = format!("unix:{}", socket(case).display());
    let words = ["--bind", &bind, "--no-control-socket", "gunicorn_app:app"];
    let running = serve(case, options, &python("gunicorn", &words)).spawn();
    let request = request(case);
    wait_until("the request to begin", DEADLINE, || has_come(case, "begun"));
    (running, request)
}

#[test]
fn a_server_answers_its_requests_before_it_ends() {
    if !has("gunicorn") {
        return;
    }
    let case = Case::new("gunicorn-term");
    for options in [None, Some(SINGLE)] {
        let (running, request) = server(&case, options);
        running.signal(Signal::SIGTERM);
        running.wait_for_line("Handling signal: term", DEADLINE);
        go(&case);
        assert!(answer(request).ends_with("\r\n\r\ndone"));
        running.wait(DEADLINE).assert_code(0);
    }
}

#[test]
fn a_server_that_reloads_answers_its_requests_only_if_it_alone_gets_the_signal() {
    if !has("gunicorn") {
        return;
    }
    let case = Case::new("gunicorn-hup");
    for (options, answers) in [(None, true), (Some(SINGLE), true), (Some(&[][..]), false)] {
        let (running, request) = server(&case, options);
        running.signal(Signal::SIGHUP);
        running.wait_for_line("Handling signal: hup", DEADLINE);
        if answers {
            go(&case);
        }
        assert_eq!(answer(request).ends_with("\r\n\r\ndone"), answers, "{options:?}");
        running.signal(Signal::SIGTERM);
        running.wait(DEADLINE).assert_code(0);
    }
}
