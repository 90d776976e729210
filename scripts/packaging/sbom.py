#!/usr/bin/env python3
"""Prints the list of everything that is linked into zklock, as CycloneDX JSON.

Usage: SOURCE_DATE_EPOCH=SECONDS scripts/packaging/sbom.py TARGET

The same sources give the same bytes: the time is that of the sources, and no serial number is drawn.
"""

import datetime
import json
import os
import subprocess
import sys

import crates


def licences(package):
    # An old way to say OR, which isn't SPDX.
    return [{"expression": package["license"].replace("/", " OR ")}]


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def component(kind, package):
    return {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "licenses": licences(package),
        "purl": purl(package),
    }


def crate(package, sums):
    result = component("library", package)
    # The core is a part of the sources, not an archive.
    if package["source"]:
        result["hashes"] = [{"alg": "SHA-256", "content": sums[package["name"], package["version"]]}]
    if package["repository"]:
        result["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return result


def libraries(target):
    """What no crate brings: Rust's standard library, and the C library of a static program."""
    words = ["rustc", "--version", "--verbose"]
    output = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    rust = dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)
    std = {"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": rust["release"]}
    yield std | {"licenses": [{"expression": "MIT OR Apache-2.0"}]}
    if "musl" in target:
        yield {"type": "library", "bom-ref": "musl", "name": "musl", "licenses": [{"expression": "MIT"}]}


def main(target):
    own, others = crates.shipped(target)
    sums, linked = crates.checksums(), list(libraries(target))
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    names = {package["id"]: purl(package) for package in [own, *others]}
    needs = [{"ref": names[package["id"]], "dependsOn": sorted(names[need] for need in package["needs"])}
             for package in [own, *others]]
    needs[0]["dependsOn"] += [library["bom-ref"] for library in linked]
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component("application", own) | {"description": own["description"]},
            "properties": [{"name": "cdx:rustc:target", "value": target}],
        },
        "components": [crate(package, sums) for package in others] + linked,
        "dependencies": needs,
    }
    print(json.dumps(bom, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
