//! Behaviour tests of the `zklock` program: each test runs it as users do, against real `ZooKeeper` servers.
//!
//! This is one test binary with one module for each behaviour. `support` is the harness; its own tests are in
//! `support/selftest`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(missing_docs, reason = "a test's name is its documentation")]

mod addresses;
mod architecture;
mod bad_paths;
mod busy;
mod checking;
mod command_line;
mod completion;
mod configuration;
mod connecting;
mod corpus;
mod counter_end;
mod ctrl_z;
mod escape_small;
#[path = "escape/trial/mod.rs"]
mod escape_trial;
mod exit_codes;
mod failures;
mod fairness;
mod fate;
mod faults;
mod foreign_children;
mod herd;
mod hostile;
mod kinds;
mod live_line;
mod lock_nodes;
mod log_json;
mod manual_page;
mod messages;
mod name_services;
mod neighbours;
mod nesting;
mod once_per;
mod options;
mod ordering;
mod permissions;
mod pid1;
mod progress;
mod release;
mod requests;
mod revoke;
mod revoked_by_client;
mod runners;
mod security;
#[path = "support/selftest/mod.rs"]
mod selftest;
mod several_locks;
mod signals;
mod slow_connections;
mod special_files;
mod status;
mod stopping;
mod support;
mod terminal;
mod two_processes;
mod unread_stderr;
mod unwritable_stdout;
