//! zklock under the programs that start it: CI runners, service managers, cron, timeout, ssh and others.

mod ci;
mod flock;
mod shells;
mod tools;
mod wrappers;
