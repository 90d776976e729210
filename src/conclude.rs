//! After a success with `--once-per`: the record of it and the release of the lock, in one transaction.
//!
//! So only a holder can record: whoever has lost the lock finds its node gone, and records nothing.

use std::io;

use crate::claim::{Claim, Notice};
use crate::clock::BootTime;
use crate::event::{Event, Events};
use crate::lock::once::{LastSuccess, record_path};
use crate::lock::path::LockPath;
use crate::lock::record::Record;
use crate::release::{let_go, patience};
use crate::ui;
use crate::zk::{Failure, Reply, Request};

/// Records the success. If that can't be done it is said, and the command's exit code stands.
pub fn conclude(claim: &mut Claim, events: &Events, path: &LockPath, by: Record) {
    let own = claim.set().and_then(|set| set.nodes().next().map(|(_, node)| node.clone()));
    let failure = match own {
        Some(own) if !claim.is_over() => {
            let success = LastSuccess { by, fencing_token: own.fencing_token };
            Conclusion { claim, events, record: record_path(path.as_str()), node: own.path, success }
                .make()
                .unwrap_or_else(|error| Some(error.to_string()))
        }
        _ => Some("the session is over".to_owned()),
    };
    match failure {
        None => ui::step(path, "success recorded"),
        Some(why) => {
            // An error, and not only a warning: otherwise `-q` would hide that the command runs every time.
            ui::error(
                path,
                format_args!("the success could not be recorded, so that the next run isn't skipped: {why}"),
            );
        }
    }
}

struct Conclusion<'a> {
    claim: &'a mut Claim,
    events: &'a Events,
    record: String,
    node: String,
    success: LastSuccess,
}

impl Conclusion<'_> {
    /// Why it wasn't recorded, if it wasn't.
    fn make(self) -> io::Result<Option<String>> {
        let until = BootTime::now() + patience(self.claim);
        self.ask();
        let mut uncertain = false;
        loop {
            let Some(event) = self.events.next(Some(until))? else {
                return Ok(Some("no server confirmed it".to_owned()));
            };
            if matches!(event, Event::MonitorDied) {
                let_go();
            }
            for notice in self.claim.take(event) {
                match notice {
                    Notice::Aside(Reply::Concluded(Ok(()))) => return Ok(None),
                    Notice::Aside(Reply::Concluded(Err(Failure::ConnectionLost))) => {
                        uncertain = true;
                        self.ask();
                    }
                    // It may have been us, in the attempt whose answer was lost.
                    Notice::Aside(Reply::Concluded(Err(Failure::NoNode))) if uncertain => {
                        self.claim.ask_aside(Request::Get(self.record.clone()));
                    }
                    Notice::Aside(Reply::Read(_, Err(Failure::ConnectionLost))) => {
                        self.claim.ask_aside(Request::Get(self.record.clone()));
                    }
                    Notice::Aside(Reply::Read(_, read)) => {
                        let ours =
                            |data: &[u8]| LastSuccess::from_bytes(data).as_ref() == Some(&self.success);
                        let recorded = read.is_ok_and(|node| ours(&node.data));
                        return Ok((!recorded).then(|| "our node was gone before".to_owned()));
                    }
                    Notice::Aside(Reply::Concluded(Err(failure))) | Notice::Lost(failure) => {
                        return Ok(Some(failure.to_string()));
                    }
                    _ => {}
                }
            }
        }
    }

    fn ask(&self) {
        let (record, node) = (self.record.clone(), self.node.clone());
        self.claim.ask_aside(Request::Conclude { record, data: self.success.to_bytes(), node });
    }
}
