//! The harness of every behaviour test: real servers, deliberate faults, and the program under test.
//!
//! Start with [`Case`]: it gives a test a lock path of its own on a server that all tests share, and checks at the end
//! that no lock node and no process was left behind. A test that harms its server starts its own [`Server`] or
//! [`Ensemble`], and declares it *before* the case, so that the case is dropped first.

mod case;
mod cgroup;
pub mod clock;
mod contenders;
mod counter;
mod ensemble;
pub mod failing_call;
pub mod four_letter;
mod helper;
mod history;
mod inspect;
pub mod jute;
mod jvm;
mod keys;
pub mod lan;
mod lines;
pub mod machine;
mod metrics;
mod namespace;
mod neighbour;
pub mod network;
mod observer;
mod operators;
mod other_user;
mod output;
pub mod packets;
mod pipe;
mod place;
mod ports;
pub mod process_fault;
mod processes;
mod prometheus;
mod proxy;
mod pty;
mod rows;
pub mod running;
mod server;
mod server_builder;
mod shell;
mod skip;
pub mod spawn;
mod systemd;
mod tail;
mod version;
mod wait;
mod zklock;

#[cfg(test)]
mod selftest;

pub use crate::checker::{self, Checker, Section};
pub use crate::fault::{Fault, Target};
pub use crate::rng::Rng;
pub use {
    case::Case,
    cgroup::Cgroup,
    ensemble::{Ensemble, EnsembleBuilder},
    helper::{name_service, signal_counter, signal_counters, signal_printer, skewed_clock, without_lists},
    history::History,
    inspect::{
        Held, Hung, WORKER, children_of, command_of, found_by_name, freeze, is_alive, is_stopped,
        limit_open_files, status_of, thaw, worker_of, zombies_below,
    },
    jute::{Bytes, op},
    jvm::release,
    keys::{Authority, Identity, Keys},
    lines::Lines,
    namespace::{has_namespaces, unshare},
    neighbour::{Neighbour, NeighbourLock, curator, kazoo},
    observer::Observer,
    operators::{deaf_holder, end, end_deaf, end_holder, holder, host, start},
    other_user::OtherUser,
    output::Output,
    pipe::Pipe,
    place::{Place, Placed, first_of},
    ports::free as free_port,
    process_fault::first_child,
    processes::{assert_no_processes, kill_all, processes_of},
    prometheus::Metrics,
    proxy::{At, Proxy},
    pty::Terminal,
    rows::try_rows,
    running::Running,
    server::{Server, shared},
    server_builder::ServerBuilder,
    shell::Shell,
    skip::{has_strace, skip},
    systemd::Systemd,
    tail::Tail,
    version::{Version, has_other_version},
    wait::{DEADLINE, LATE, STEADY, pass_time, try_for, wait_for, wait_until},
    zklock::{MARKER, Zklock, new_marker, zklock_binary},
};
