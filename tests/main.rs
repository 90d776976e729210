//! Behaviour tests of the `zklock` program: each test runs it as users do, against real `ZooKeeper` servers.
//!
//! This is one test binary with one module for each behaviour. [`support`] is the harness: `crates/testkit`.
//!
//! | behaviour | modules |
//! |---|---|
//! | words, options and settings | [`command_line`], [`command_size`], [`options`], [`configuration`], [`refused`], [`special_files`] |
//! | help for the user | [`completion`], [`manual_page`], [`messages`] |
//! | the queue and its nodes | [`requests`], [`wakeups`], [`lock_nodes`], [`foreign_children`], [`counter_end`] |
//! | who excludes whom, and kinds of locks | [`queues`], [`several_locks`], [`busy`], [`nesting`], [`once_per`] |
//! | the command, from start to end | [`signals`], [`inherited`], [`ctrl_z`], [`terminal`], [`runners`], [`exit_codes`], [`release`], [`sockets`] |
//! | the command is stopped | [`stopping`], [`revoke`] |
//! | faults of servers and network | [`faults`], [`failures`], [`slow_connections`], [`overload`], [`malformed_servers`], [`malformed_nodes`], [`fuzz_corpus`], [`operations`] |
//! | zklock itself is killed or frozen, or its clock faked | [`two_processes`], [`failing_calls`], [`faked_clock`] |
//! | connecting, and permission to | [`connecting`], [`addresses`], [`name_services`], [`security`], [`permissions`], [`limits`], [`open_files`] |
//! | messages | [`live_line`], [`progress`], [`log_json`], [`service_manager`], [`unread_stderr`], [`unwritable_stdout`] |
//! | the subcommands | [`status`], [`check`], [`revoke`], [`wait`](mod@wait); `forget` is in [`once_per`] |
//! | zklock is upgraded | [`upgrade`], [`replaced`] |
//! | the sources and the pages | [`architecture`], [`documentation`] |
//! | what `scripts/package` builds | [`packages`] |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(missing_docs, reason = "a test's name is its documentation")]

mod addresses;
mod architecture;
mod busy;
mod check;
mod command_line;
mod command_size;
mod completion;
mod configuration;
mod connecting;
mod counter_end;
mod ctrl_z;
mod documentation;
mod exit_codes;
mod failing_calls;
mod failures;
mod faked_clock;
mod faults;
mod foreign_children;
mod fuzz_corpus;
mod inherited;
mod limits;
mod live_line;
mod lock_nodes;
mod log_json;
mod malformed_nodes;
mod malformed_servers;
mod manual_page;
mod messages;
mod name_services;
mod nesting;
mod once_per;
mod open_files;
mod operations;
mod options;
mod overload;
mod packages;
mod permissions;
mod progress;
mod queues;
mod refused;
mod release;
mod replaced;
mod requests;
mod revoke;
mod runners;
mod security;
mod service_manager;
mod several_locks;
mod signals;
mod slow_connections;
mod sockets;
mod special_files;
mod status;
mod stopping;
mod terminal;
mod two_processes;
mod unread_stderr;
mod unwritable_stdout;
mod upgrade;
mod wait;
mod wakeups;

use testkit as support;
