//! The way between one zklock and the server that it talks to.
//!
//! What zklock's session thread and the client library promise is all that is promised here: requests are
//! served in order, answers come in that order, and a change is told before an answer that was given after it.
//! A change may be told *before* an answer that was given earlier (`zk/session.rs` looks at watches first),
//! except before the one that set its watch.
//!
//! Steps that nobody else can tell apart are one: a server learns of a change when that matters to what it
//! serves, and an answer that nothing can overtake arrives as it is given.

use std::mem;

use zklock::core::time::BootTime;
use zklock::runtime::zk::{Failure, Reply, Request};

use crate::ensemble::History;
use crate::lock_path;

/// A connection, and the server's side of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    pub up: bool,
    /// Asked and not yet served.
    pub asked: Vec<Asked>,
    /// Answers on the way to zklock, and the view that each was given at.
    pub coming: Vec<(Reply, usize)>,
    /// How much of the history the server shows.
    pub view: usize,
    /// How much of it zklock has seen.
    pub seen: usize,
    /// Paths that are watched.
    pub armed: Vec<String>,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Asked {
    Of(Request),
    CloseSession,
}

/// What has come of a step, for zklock to hear.
#[derive(Debug, Default)]
pub struct Heard {
    pub replies: Vec<Reply>,
    pub closed: bool,
}

impl Link {
    pub fn new(view: usize) -> Self {
        Self { up: true, asked: vec![], coming: vec![], view, seen: view, armed: vec![] }
    }

    pub fn ask(&mut self, requests: Vec<Request>) {
        self.asked.extend(requests.into_iter().map(Asked::Of));
    }

    /// The views at which the request in front may be served, as far as they differ.
    pub fn views_to_serve_at(&self, history: &History) -> Vec<usize> {
        let now = history.now();
        match self.asked.first() {
            Some(Asked::Of(Request::List(_))) => {
                (self.view..=self.next_event(history).unwrap_or(now)).collect()
            }
            Some(Asked::Of(Request::Watch(path))) => {
                let end = self.next_event(history).unwrap_or(now);
                let changes = history.between(self.view, end).iter().zip(self.view + 1..);
                let deleted = changes.filter(|(change, _)| change.told() == Some((path, true)));
                std::iter::once(self.view).chain(deleted.map(|(_, view)| view)).collect()
            }
            // What is behind is told at once then, and mustn't be ahead of an answer that has set its watch.
            Some(_) if self.coming.is_empty() => vec![now],
            Some(_) | None => vec![],
        }
    }

    /// The server serves the request in front at this view.
    pub fn serve(&mut self, history: &mut History, session: i64, view: usize) -> Heard {
        let asked = self.asked.remove(0);
        let mut heard = Heard::default();
        let request = match asked {
            Asked::Of(request) => request,
            Asked::CloseSession => {
                history.end_session(session);
                heard.closed = true;
                return heard;
            }
        };
        let reply = match request {
            Request::Create { prefix, .. } => {
                let created = history.create(&lock_path(), &prefix, session);
                heard.replies = self.learn(history, history.now());
                Reply::Created(Ok(created))
            }
            Request::Delete(path) => {
                let deleted = history.delete(&path);
                heard.replies = self.learn(history, history.now());
                Reply::Deleted(deleted)
            }
            Request::CatchUpAndList(_) | Request::List(_) => {
                heard.replies = self.learn(history, view);
                Reply::Listed(Ok(history.list(self.view)))
            }
            Request::Watch(path) => {
                heard.replies = self.learn(history, view);
                let node = history.read(&path, self.view);
                Reply::Read(path, node)
            }
            other => unreachable!("{other:?} is not part of this model"),
        };
        self.coming.push((reply, self.view));
        if self.armed.is_empty() {
            // Nothing can overtake them.
            while !self.coming.is_empty() {
                heard.replies.push(self.receive());
            }
        }
        heard
    }

    /// The answer in front arrives.
    pub fn receive(&mut self) -> Reply {
        let (reply, view) = self.coming.remove(0);
        self.seen = self.seen.max(view);
        if let Reply::Read(path, Ok(_)) = &reply
            && !self.armed.contains(path)
        {
            self.armed.push(path.clone());
        }
        reply
    }

    /// The view just before the next change that is told, if there is one.
    pub fn next_event(&self, history: &History) -> Option<usize> {
        let is_watched = |path: &str| {
            let coming =
                |(reply, _): &(Reply, usize)| matches!(reply, Reply::Read(read, Ok(_)) if read == path);
            self.armed.iter().any(|armed| armed == path) || self.coming.iter().any(coming)
        };
        let changes = history.between(self.view, history.now());
        let place = changes.iter().position(|change| change.told().is_some_and(|(path, _)| is_watched(path)));
        place.map(|place| self.view + place)
    }

    /// Whether the next change can be told now: not ahead of the answer that set its watch.
    pub fn can_tell(&self, history: &History) -> bool {
        self.next_event(history).is_some_and(|view| {
            let told = history.between(view, view + 1).first().and_then(|change| change.told());
            told.is_some_and(|(path, _)| self.armed.iter().any(|armed| armed == path))
        })
    }

    /// The server learns of the next change that is watched, and tells it.
    pub fn tell(&mut self, history: &History) -> Heard {
        let view = self.next_event(history).map_or(self.view, |view| view + 1);
        Heard { replies: self.learn(history, view), closed: false }
    }

    fn learn(&mut self, history: &History, view: usize) -> Vec<Reply> {
        let mut news = vec![];
        for (change, view) in history.between(self.view, view).iter().zip(self.view + 1..) {
            if let Some((path, deleted)) = change.told()
                && let Some(place) = self.armed.iter().position(|armed| armed == path)
            {
                news.push(Reply::Changed(self.armed.remove(place), deleted));
                self.seen = self.seen.max(view);
            }
        }
        self.view = view;
        news
    }

    /// The connection goes, and the watches with it. Each answer that is missing is told as such, in order.
    pub fn fail(&mut self) -> Vec<Reply> {
        self.up = false;
        self.view = self.seen;
        self.armed.clear();
        let answers = mem::take(&mut self.coming);
        let asked = mem::take(&mut self.asked).into_iter().filter_map(|asked| match asked {
            Asked::Of(request) => Some(refused(request, BootTime::from_nanos(0), Failure::ConnectionLost)),
            Asked::CloseSession => None,
        });
        answers.into_iter().map(|(reply, _)| unanswered(reply)).chain(asked).collect()
    }

    /// Connected again, to a server with this view. What zklock asked meanwhile is still to be asked.
    pub fn reconnect(&mut self, view: usize) {
        (self.up, self.view) = (true, view);
    }

    /// See [`History::forget`].
    pub fn forget(&mut self, view: usize) {
        self.view -= view;
        self.seen -= view;
        self.coming.iter_mut().for_each(|(_, given_at)| *given_at = given_at.saturating_sub(view));
    }

    pub fn is_asked_to_create(&self) -> bool {
        matches!(self.asked.first(), Some(Asked::Of(Request::Create { .. })))
    }

    pub fn is_quiet(&self, history: &History) -> bool {
        self.up && self.asked.is_empty() && self.coming.is_empty() && self.next_event(history).is_none()
    }
}

/// What zklock hears instead of an answer that was lost with the connection.
pub fn unanswered(reply: Reply) -> Reply {
    const LOST: Failure = Failure::ConnectionLost;
    match reply {
        Reply::Created(_) => Reply::Created(Err(LOST)),
        Reply::Listed(_) => Reply::Listed(Err(LOST)),
        Reply::Read(path, _) => Reply::Read(path, Err(LOST)),
        Reply::Deleted(_) => Reply::Deleted(Err(LOST)),
        Reply::Confirmed(sent, _) => Reply::Confirmed(sent, Err(LOST)),
        other => unreachable!("{other:?} is no answer of this model"),
    }
}

/// What zklock hears of a request made at `sent` that wasn't carried out.
pub fn refused(request: Request, sent: BootTime, why: Failure) -> Reply {
    match request {
        Request::Create { .. } => Reply::Created(Err(why)),
        Request::List(_) | Request::CatchUpAndList(_) => Reply::Listed(Err(why)),
        Request::Watch(path) => Reply::Read(path, Err(why)),
        Request::Delete(_) => Reply::Deleted(Err(why)),
        Request::Confirm(_) => Reply::Confirmed(sent, Err(why)),
        other => unreachable!("{other:?} is not part of this model"),
    }
}
