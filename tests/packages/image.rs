//! The layout of the image: blobs by their sums, one layer, and the same bytes each time.

use super::{Package, shell, stub};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn read(layout: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(layout.join(name)).expect("a file of the layout")).expect("JSON")
}

/// The path of the blob that a descriptor names, after its size and media type are checked.
#[track_caller]
fn blob(layout: &Path, descriptor: &Value, media_type: &str) -> PathBuf {
    assert_eq!(descriptor["mediaType"], format!("application/vnd.oci.image.{media_type}"));
    let path = layout.join("blobs").join(descriptor["digest"].as_str().expect("a digest").replace(':', "/"));
    assert_eq!(descriptor["size"], fs::metadata(&path).expect("the blob").len());
    path
}

#[test]
fn the_image_is_an_oci_layout_and_an_archive_for_docker_load() {
    let package = Package::new();
    let Some(program) = stub(package.dir.path()) else { return };
    let image = package.make(&program, "image");
    let layout = package.dir.path().join("layout");
    fs::create_dir(&layout).expect("a directory");
    shell(&layout, &format!("tar xf '{}'", image.display()));
    shell(&layout.join("blobs/sha256"), r#"for blob in *; do echo "$blob  $blob"; done | sha256sum --check"#);

    assert_eq!(read(&layout, "oci-layout"), json!({"imageLayoutVersion": "1.0.0"}));
    let entry = &read(&layout, "index.json")["manifests"][0];
    assert_eq!(entry["annotations"]["org.opencontainers.image.ref.name"], env!("CARGO_PKG_VERSION"));
    let manifest = read(&layout, blob(&layout, entry, "manifest.v1+json").to_str().expect("a path"));
    let config = blob(&layout, &manifest["config"], "config.v1+json");
    let layer = blob(&layout, &manifest["layers"][0], "layer.v1.tar+gzip");
    let uncompressed =
        shell(&layout, &format!("gzip -dc '{}' | sha256sum | cut -d ' ' -f 1", layer.display()));

    let docker = &read(&layout, "manifest.json")[0];
    assert_eq!(docker["RepoTags"], json!([format!("zklock:{}", env!("CARGO_PKG_VERSION"))]));
    assert_eq!(layout.join(docker["Config"].as_str().expect("a path")), config);
    assert_eq!(layout.join(docker["Layers"][0].as_str().expect("a path")), layer);

    let config = read(&layout, config.to_str().expect("a path"));
    let processor = if std::env::consts::ARCH == "x86_64" { "amd64" } else { "arm64" };
    assert_eq!((&config["os"], &config["architecture"]), (&json!("linux"), &json!(processor)));
    assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", uncompressed.trim_end())]));
    assert_eq!(config["config"]["Entrypoint"], json!(["/zklock"]));
    let user = config["config"]["User"].as_str().expect("a user");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id != 0)), "{user}");
    let labels = &config["config"]["Labels"];
    for (label, value) in [
        ("title", "zklock"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("licenses", "MIT"),
        ("description", env!("CARGO_PKG_DESCRIPTION")),
    ] {
        assert_eq!(labels[format!("org.opencontainers.image.{label}")], value);
    }

    let list = shell(
        &layout,
        &format!("tar tvzf '{}' --numeric-owner | awk '{{print $1, $2, $6}}'", layer.display()),
    );
    let files: Vec<&str> = list.lines().collect();
    assert_eq!(
        files,
        [
            "drwxr-xr-x 0/0 licenses/",
            "-rw-r--r-- 0/0 licenses/LICENSE",
            "-rw-r--r-- 0/0 licenses/THIRD-PARTY-NOTICES",
            "-rw-r--r-- 0/0 licenses/zklock.cdx.json",
            "-rwxr-xr-x 0/0 zklock",
        ]
    );
}

#[test]
fn the_same_program_gives_the_same_image() {
    let (first, second) = (Package::new(), Package::new());
    let Some(program) = stub(first.dir.path()) else { return };
    let copy = second.dir.path().join("another name");
    shell(
        Path::new("/"),
        &format!("cp '{}' '{}' && touch -d 2001-01-01 '{1}'", program.display(), copy.display()),
    );
    let images = [first.make(&program, "image"), second.make(&copy, "image")];
    let [one, other] = images.map(|image| fs::read(image).expect("an image"));
    assert!(one == other, "the two images differ");
}

#[test]
fn a_program_that_needs_libraries_is_refused() {
    let package = Package::new();
    let output = package.run(Path::new(env!("CARGO_BIN_EXE_zklock")), "image");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("needs libraries") && message.contains("libc.so.6"), "{message}");
}
