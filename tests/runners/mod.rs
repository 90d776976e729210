//! zklock under the programs that start it: CI runners, service managers, cron, timeout, ssh and others.

mod shells;
mod systemd;
mod tools;
