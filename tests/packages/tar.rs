//! The archive: what it contains, its sums, and the licences and names of all that is linked in.

use super::{Package, shell, stub};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_archive_has_the_program_with_everything_about_it() {
    let package = Package::new();
    let Some(program) = stub(package.dir.path()) else { return };
    let archive = package.make(&program, "tar");
    let results = archive.parent().expect("a directory");
    shell(results, "sha256sum --check --strict SHA256SUMS");
    shell(results, &format!("tar xzf '{}'", archive.display()));
    let name = archive.file_name().expect("a name").to_str().expect("UTF-8").trim_end_matches(".tar.gz");
    assert!(name.starts_with(concat!("zklock-", env!("CARGO_PKG_VERSION"), "-")), "{name}");
    let directory = results.join(name);
    for file in [
        "zklock",
        "man/man1/zklock.1",
        "completions/zklock.bash",
        "completions/_zklock",
        "completions/zklock.fish",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "docs/usage.md",
        "docs/examples/zklock.toml",
    ] {
        let is_empty = fs::metadata(directory.join(file)).map(|file| file.len() == 0);
        assert!(is_empty.is_ok_and(|is_empty| !is_empty), "{file} is missing or empty");
    }

    let notices = fs::read_to_string(directory.join("THIRD-PARTY-NOTICES")).expect("the licences");
    let parts = fs::read(directory.join("zklock.cdx.json")).expect("the list of components");
    let parts: Value = serde_json::from_slice(&parts).expect("JSON");
    let named: BTreeSet<String> = parts["components"]
        .as_array()
        .expect("components")
        .iter()
        .map(|part| format!("{} {}", part["name"].as_str().unwrap(), part["version"].as_str().unwrap()))
        .collect();
    // Independently of the script, which asks `cargo metadata`: what is locked, and what zklock uses by name.
    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    for name in ["rustls", "aws-lc-sys", "zookeeper-client", "nix", "clap", "libc"] {
        let of_that_name = |part: &&String| part.split_once(' ').is_some_and(|(part, _)| part == name);
        assert!(named.iter().any(|part| of_that_name(&part)), "no {name} in {named:?}");
    }
    for part in &named {
        let (name, version) = part.split_once(' ').expect("a name and a version");
        // The core is zklock's own, and Rust's library has a heading.
        let has_licence =
            notices.contains(&format!("  {part}: ")) || ["zklock-core", "rust-std"].contains(&name);
        assert!(has_licence, "no licence of {part}");
        let locked = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&locked) || name == "rust-std", "{part} isn't locked");
    }
    for (heading, text) in
        [("Rust's standard library", "The Rust Project Developers"), ("aws-lc-sys", "OpenSSL")]
    {
        assert!(notices.contains(heading) && notices.contains(text), "{heading}");
    }
    // What only tests and build scripts use isn't shipped.
    for name in ["proptest", "criterion", "cc", "tempfile"] {
        assert!(!notices.contains(&format!("\n  {name} ")), "{name} isn't a part of zklock");
    }
}
