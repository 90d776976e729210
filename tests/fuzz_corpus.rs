//! Runs everything in `fuzz/corpus` through the checks of the fuzz targets. Their package is no dependency: it needs a
//! fuzzer, which only whoever fuzzes builds.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a crate of its own where it is fuzzed")]
mod checks;
#[path = "../fuzz/src/configuration.rs"]
#[allow(unreachable_pub, reason = "as above")]
mod configuration;

use checks::shown;

const FUZZ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");

/// Each target with its check.
fn all() -> impl Iterator<Item = checks::Target> {
    let last: checks::Target = ("configuration", configuration::check);
    checks::TARGETS.iter().copied().chain([last])
}

/// The names in a directory.
fn names(dir: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory of fuzz/");
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn whatever_was_ever_fed_to_a_target_keeps_its_promises() {
    for (target, check) in all() {
        let dir = Path::new(FUZZ).join("corpus").join(target);
        let inputs = names(&dir);
        assert!(inputs.len() >= 5, "{target} has a corpus");
        for input in inputs {
            let data = fs::read(dir.join(&input)).unwrap();
            assert!(catch_unwind(|| check(&data)).is_ok(), "fuzz/corpus/{target}/{input}");
        }
    }
}

#[test]
fn every_target_has_its_check_and_its_corpus() {
    let mut targets: Vec<String> = all().map(|(name, _)| name.to_owned()).collect();
    targets.sort();
    assert_eq!(names(Path::new(FUZZ).join("corpus")), targets);
    let files: Vec<String> = targets.iter().map(|target| format!("{target}.rs")).collect();
    assert_eq!(names(Path::new(FUZZ).join("fuzz_targets")), files);
    let manifest = fs::read_to_string(Path::new(FUZZ).join("Cargo.toml")).unwrap();
    for file in files {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{file}\"")), "{file}");
    }
}
