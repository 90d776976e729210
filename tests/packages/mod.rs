//! The image that `scripts/package` makes. The script itself checks what is in each package.
//!
//! A static build of zklock takes minutes, so a stub of C stands for it unless `scripts/package static` has built one.

mod container;
mod in_the_image;

use crate::support::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What every package needs of the Rust toolchain. Toolchains without documentation lack it.
const LICENCES: &str = "share/doc/rust/COPYRIGHT-library.html";

/// A call of `scripts/package`, whose results go into a directory of their own.
struct Package {
    dir: TempDir,
}

impl Package {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory for packages") }
    }

    /// Runs it with this program, for this machine's own target, which needs neither musl nor a download.
    fn run(&self, program: &Path, kind: &str) -> Output {
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let mut script = Command::new(Path::new(ROOT).join("scripts/package"));
        script.args(["--target", &target, "--program"]).arg(program).arg(kind);
        script.env("CARGO_TARGET_DIR", self.dir.path()).output().expect("scripts/package")
    }

    /// The same; it must succeed, and prints the path of the result.
    #[track_caller]
    fn make(&self, program: &Path, kind: &str) -> PathBuf {
        PathBuf::from(successful(&self.run(program, kind)).trim_end())
    }
}

/// Whether the Rust toolchain has the licences of its library. If not, the test is reported as skipped.
fn has_licences() -> bool {
    let sysroot =
        Command::new("rustc").args(["--print", "sysroot"]).current_dir(ROOT).output().expect("rustc");
    let has_licences = Path::new(successful(&sysroot).trim_end()).join(LICENCES).exists();
    if !has_licences {
        skip(&format!("the Rust toolchain has no {LICENCES}"));
    }
    has_licences
}

/// A static program that answers `--version` as zklock does. Without the C library for static programs, or what every
/// package needs, the test is reported as skipped.
fn stub(dir: &Path) -> Option<PathBuf> {
    if !has_licences() {
        return None;
    }
    let program = dir.join("stub");
    let version = format!("-DVERSION=\"{}\"", env!("CARGO_PKG_VERSION"));
    let source = Path::new(ROOT).join("tests/packages/stub.c");
    let mut compiler = Command::new("cc");
    let built = compiler.args(["-static", "-O1", &version, "-o"]).arg(&program).arg(source).output();
    if !built.is_ok_and(|output| output.status.success()) {
        skip("the C compiler can't link a static program");
        return None;
    }
    Some(program)
}

/// The stdout of a command that has succeeded.
#[track_caller]
fn successful(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The stdout of a shell script that runs in `dir`, and must succeed.
#[track_caller]
fn shell(dir: &Path, script: &str) -> String {
    successful(&Command::new("bash").args(["-euc", script]).current_dir(dir).output().expect("bash"))
}
