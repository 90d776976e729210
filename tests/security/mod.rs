//! Permissions, authentication and encryption.

mod acl;
mod auth;
mod auth_files;
mod page;
mod rotation;
mod sasl;
mod secrets;
mod tls;

use crate::support::{Case, Zklock};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Two users, as they authenticate and as an ACL names them: the hash is that of `USER:PASSWORD`.
const ALICE: &str = "alice:wonder";
const ALICE_ID: &str = "digest:alice:8y0lhh/7xkdEiwhX7vo9i+/Nmzc=";
const BOB: &str = "bob:builder";
const BOB_ID: &str = "digest:bob:4rsXV9JgUbFl9ZE40xENilxlRV8=";

/// A command that prints its node and runs until it is ended.
const HOLD: [&str; 3] = ["sh", "-c", "echo $ZKLOCK_NODE; exec sleep 60"];

/// Creates a file in the case's directory with this content and mode.
fn file(case: &Case, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = case.dir().join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    path
}

/// zklock with the credentials of this user and these options.
fn zklock_as(case: &Case, digest: &str, options: &[&str]) -> Zklock {
    // Created open; otherwise the first case on the server would own it alone.
    case.observer().mkdirs("/t");
    let name = digest.replace(':', "-");
    let auth = file(case, &name, &format!("# one user\ndigest:{digest}\n"), 0o600);
    case.zklock().arg("--auth-file").arg(auth).args(options)
}
