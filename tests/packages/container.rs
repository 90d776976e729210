//! A container of the image, as an engine makes it: its files as the root, process 1 of its own, and not root.

use super::{Package, ROOT, has_licences, shell, stub, successful};
use crate::support::{Case, Zklock, has_namespaces, skip, unshare};
use nix::unistd::{Pid, geteuid};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;

const KINDS: &str = "--mount --pid --fork";

/// The unpacked image, and where to find zklock in it.
pub(super) struct Container {
    root: PathBuf,
    user: String,
    _dir: TempDir,
}

impl Container {
    /// The image; if it is the stub's, with the zklock under test and its libraries put over that. `None` if this
    /// machine allows no container.
    pub(super) fn new() -> Option<Self> {
        if !has_namespaces(KINDS, "mount -t proc proc /proc") {
            return None;
        }
        let Some(image) = IMAGE.as_ref() else {
            skip("the image can't be made");
            return None;
        };
        let dir = tempfile::tempdir().expect("a directory for the container");
        let root = dir.path().join("root");
        fs::create_dir(&root).expect("a directory");
        // The only layer. An engine adds /proc and /dev.
        let unpack = "tar xf \"$IMAGE\" --to-stdout manifest.json | grep -o 'blobs/sha256/[0-9a-f]*' >blobs
            tar xf \"$IMAGE\" --to-stdout $(tail -n 1 blobs) | tar xz -C root
            tar xf \"$IMAGE\" --to-stdout $(head -n 1 blobs) | grep -o '\"User\": \"[0-9:]*' | cut -d '\"' -f 4
            mkdir root/proc root/dev; : >root/dev/null; chmod 755 root";
        let user = shell(dir.path(), &unpack.replace("$IMAGE", image.to_str().expect("UTF-8")));
        if static_zklock().is_none() {
            put_in(&root, Path::new(env!("CARGO_BIN_EXE_zklock")));
        }
        Some(Self { root, user: user.trim_end().to_owned(), _dir: dir })
    }

    /// Makes zklock run in the container, as process 1.
    pub(super) fn run(&self, zklock: Zklock) -> Zklock {
        let root = self.root.display();
        // A new user namespace knows one user only.
        let user = if geteuid().is_root() { format!("--userspec={}", self.user) } else { String::new() };
        let script = format!(
            "mount --bind /dev/null {root}/dev/null && mount -t proc proc {root}/proc &&
             exec chroot {user} {root} /zklock \"$@\""
        );
        zklock
            .env("SCRIPT", script)
            .prelude(&format!("exec {} bash -c \"$SCRIPT\" \"$0\" \"$@\"", unshare(KINDS)))
    }
}

/// The image of the static zklock or, if there is none, of the stub.
static IMAGE: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let package = Package::new();
    let program = match static_zklock() {
        Some(program) => has_licences().then_some(program)?,
        None => stub(package.dir.path())?,
    };
    let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zklock.image.tar");
    fs::copy(package.make(&program, "image"), &image).expect("a copy of the image");
    Some(image)
});

/// The static zklock, if there is one that isn't older than the sources.
pub(super) fn static_zklock() -> Option<PathBuf> {
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(triple).join("release/zklock");
    let newer =
        Command::new("find").args(["src", "Cargo.lock", "-newer"]).arg(&program).current_dir(ROOT).output();
    let newer = newer.ok().filter(|output| output.status.success())?;
    newer.stdout.is_empty().then_some(program)
}

/// Puts a program over the image's, with the libraries that it needs.
fn put_in(root: &Path, program: &Path) {
    fs::copy(program, root.join("zklock")).expect("a copy of zklock");
    let libraries = Command::new("ldd").arg(program).output().expect("ldd");
    let libraries = successful(&libraries);
    for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let copy = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().expect("a directory")).expect("a directory");
        fs::copy(library, copy).expect("a copy of a library");
    }
}

/// Runs a program in the namespaces of a running container, as `kubectl exec` and probes do.
pub(super) fn exec(process_1: Pid, namespaces: &[&str], words: &[&str]) -> Output {
    let mut enter = Command::new("nsenter");
    enter.args(["--target", &process_1.to_string()]).args(namespaces);
    if !geteuid().is_root() {
        enter.args(["--user", "--preserve-credentials"]);
    }
    enter.args(words).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    enter.output().expect("nsenter")
}

/// Runs zklock in a running container, and returns its exit code and what it printed.
pub(super) fn probe(process_1: Pid, case: &Case, words: &[&str]) -> (Option<i32>, String) {
    let zklock = ["/zklock", "-z", case.hosts()];
    let words: Vec<&str> = zklock.iter().chain(words).copied().collect();
    let output = exec(process_1, &["--pid", "--mount", "--root", "--wd"], &words);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("UTF-8"))
}
