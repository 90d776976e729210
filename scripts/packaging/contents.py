#!/usr/bin/env python3
"""Writes what is linked into zklock for a target: THIRD-PARTY-NOTICES, the licences, and zklock.cdx.json, a list (CycloneDX).

Usage: SOURCE_DATE_EPOCH=SECONDS scripts/packaging/contents.py TARGET DIRECTORY

The same sources give the same bytes: no serial number is drawn. A crate without a licence, or without its text, is an
error. cargo-about and cargo-cyclonedx know neither Rust's library nor musl; the list of the latter names the build's directory.
"""

import datetime
import html
import json
import os
import pathlib
import re
import subprocess
import sys

RULE = "=" * 100
# The one licence here whose text has no name of an author in it, so that any copy of it is the right one.
APACHE = re.compile(r"\s*Apache License\s+Version 2\.0.*END OF TERMS AND CONDITIONS", re.DOTALL)
# Such files have the text of a licence, or the notices that a licence says must go with it.
FILES = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?", re.IGNORECASE)


def printed(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def shipped(target):
    """zklock's own package, and the others in the order of their names, each with a list `needs` of package ids.

    `cargo tree` knows which crates the features of this target select; `cargo metadata` knows all about each.
    Build scripts' crates aren't shipped. Macros' crates count: what they write becomes a part of the program.
    """
    tree = printed("cargo", "tree", "--locked", "--edges", "normal", "--target", target, "--prefix", "none", "--format", "{p}")
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    metadata = json.loads(
        printed("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    packages = {
        package["id"]: package
        for package in metadata["packages"]
        if (package["name"], "v" + package["version"]) in names
    }
    if len(packages) != len(names):
        sys.exit(f"cargo tree names {len(names)} crates, and cargo metadata {len(packages)} of them")
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in packages:
            packages[node["id"]]["needs"] = sorted(
                dependency["pkg"]
                for dependency in node["deps"]
                if dependency["pkg"] in packages and any(kind["kind"] is None for kind in dependency["dep_kinds"])
            )
    own = packages.pop(metadata["resolve"]["root"])
    return own, sorted(packages.values(), key=lambda package: (package["name"], package["version"]))


# --- the licences ---------------------------------------------------------------------------------------


def texts_of(package):
    directory = pathlib.Path(package["manifest_path"]).parent
    files = [file for file in sorted(directory.iterdir()) if file.is_file() and FILES.fullmatch(file.name)]
    return [file.read_text("utf-8").replace("\r\n", "\n").strip() for file in files]


def standard_library():
    page = pathlib.Path(printed("rustc", "--print", "sysroot").strip(), "share/doc/rust/COPYRIGHT-library.html")
    if not page.exists():
        sys.exit(
            f"package: this Rust toolchain has no licences of Rust's standard library: {page} is missing\n"
            "    use a toolchain that rustup has installed, in any profile"
        )
    lines = html.unescape(re.sub("<[^>]+>", "", page.read_text("utf-8"))).splitlines()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def notices(target, others):
    # The core is zklock's own.
    others = [package for package in others if package["source"]]
    texts = {package["id"]: texts_of(package) for package in others}
    apache = next(text for found in texts.values() for text in found if APACHE.match(text))
    missing, users = [], {}
    yield "zklock contains these crates, under these licences. Their texts follow.\n"
    for package in others:
        name = f"{package['name']} {package['version']}"
        found = texts[package["id"]] or ([apache] if package["license"] == "Apache-2.0" else [])
        if not package["license"] or not found:
            missing.append(name)
        yield f"  {name}: {package['license']}"
        for text in found:
            users.setdefault(text, []).append(name)
    if missing:
        sys.exit(f"these crates have no licence, or no text of it: {', '.join(missing)}")
    yield "\nIt also contains Rust's standard library" + (" and musl." if "musl" in target else ".")
    for text, names in users.items():
        yield f"\n{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}"
    yield f"\n{RULE}\nRust's standard library, for all its targets\n{RULE}\n\n{standard_library()}"
    if "musl" in target:
        musl = pathlib.Path(__file__).with_name("musl-copyright").read_text("utf-8")
        yield f"\n{RULE}\nmusl, the C library\n{RULE}\n\n{musl.strip()}"


# --- the list -------------------------------------------------------------------------------------------


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def component(kind, package, sums):
    result = {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        # "/" is an old way to say OR, which isn't SPDX.
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        "purl": purl(package),
    }
    # zklock and its core are sources, not archives.
    if package["source"]:
        result["hashes"] = [{"alg": "SHA-256", "content": sums[package["name"], package["version"]]}]
    if package["repository"]:
        result["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return result


def libraries(target):
    """What no crate brings: Rust's standard library, and the C library of a static program."""
    release = re.search(r"^release: (.*)$", printed("rustc", "--version", "--verbose"), re.MULTILINE)[1]
    std = {"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": release}
    yield std | {"licenses": [{"expression": "MIT OR Apache-2.0"}]}
    if "musl" in target:
        yield {"type": "library", "bom-ref": "musl", "name": "musl", "licenses": [{"expression": "MIT"}]}


def bill(target, own, others):
    lock = pathlib.Path("Cargo.lock").read_text("utf-8")
    sums = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', lock)
    sums = {(name, version): checksum for name, version, checksum in sums}
    linked = list(libraries(target))
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    names = {package["id"]: purl(package) for package in [own, *others]}
    needs = [{"ref": names[package["id"]], "dependsOn": sorted(names[need] for need in package["needs"])}
             for package in [own, *others]]
    needs[0]["dependsOn"] += [library["bom-ref"] for library in linked]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component("application", own, sums) | {"description": own["description"]},
            "properties": [{"name": "cdx:rustc:target", "value": target}],
        },
        "components": [component("library", package, sums) for package in others] + linked,
        "dependencies": needs,
    }


def main(target, directory):
    own, others = shipped(target)
    directory = pathlib.Path(directory)
    text = "\n".join(notices(target, others)) + "\n"
    (directory / "THIRD-PARTY-NOTICES").write_text(text, "utf-8")
    (directory / "zklock.cdx.json").write_text(json.dumps(bill(target, own, others), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
