"""The crates that are linked into zklock for one target, as cargo resolves them."""

import json
import re
import subprocess


def cargo(*words):
    return subprocess.run(["cargo", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def shipped(target):
    """zklock's own package, and the others in the order of their names, each with a list `needs` of package ids.

    `cargo tree` knows which crates the features of this target select; `cargo metadata` knows all about each.
    Build scripts' crates aren't shipped. Macros' crates count: what they write becomes a part of the program.
    """
    words = ["--locked", "--edges", "normal", "--target", target, "--prefix", "none", "--format", "{p}"]
    names = {tuple(line.split()[:2]) for line in cargo("tree", *words).splitlines() if line}
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    packages = {
        package["id"]: package
        for package in metadata["packages"]
        if (package["name"], "v" + package["version"]) in names
    }
    if len(packages) != len(names):
        raise SystemExit(f"cargo tree names {len(names)} crates, and cargo metadata {len(packages)} of them")
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in packages:
            packages[node["id"]]["needs"] = sorted(
                dependency["pkg"]
                for dependency in node["deps"]
                if dependency["pkg"] in packages and any(kind["kind"] is None for kind in dependency["dep_kinds"])
            )
    own = packages.pop(metadata["resolve"]["root"])
    return own, sorted(packages.values(), key=lambda package: (package["name"], package["version"]))


def checksums():
    """The SHA-256 sum of each crate's archive, by name and version."""
    pattern = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
    with open("Cargo.lock", encoding="utf-8") as lock:
        return {(name, version): checksum for name, version, checksum in re.findall(pattern, lock.read())}
