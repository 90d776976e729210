#!/usr/bin/env python3
"""Writes an OCI layout of one layer, with the list of contents that older versions of `docker load` look for.

Usage: SOURCE_DATE_EPOCH=SECONDS scripts/packaging/oci.py LAYOUT LAYER.tar.gz PROCESSOR REVISION

Cargo's metadata names the image, and its version.
"""

import datetime
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys

# Nobody in particular, and not root. Kubernetes' runAsNonRoot knows that of a number, but not of a name.
USER = "65532:65532"
LABEL = "org.opencontainers.image."
# Those that the sources know.
LABELS = {"title": "name", "version": "version", "description": "description", "licenses": "license", "source": "repository"}
MEDIA = "application/vnd.oci.image."
# As OCI names them.
PROCESSORS = {"x86_64": {"architecture": "amd64"}, "aarch64": {"architecture": "arm64", "variant": "v8"}}


def main(directory, layer_file, processor, revision=""):
    directory, layer = pathlib.Path(directory), pathlib.Path(layer_file).read_bytes()
    (directory / "blobs/sha256").mkdir(parents=True)

    def write(name, value):
        data = value if isinstance(value, bytes) else json.dumps(value, indent=1, sort_keys=True).encode()
        (directory / name).write_bytes(data)
        return data

    def add(kind, value):
        """Adds a file that is named after its SHA-256 sum, and returns what refers to it."""
        data = write("blob", value)
        digest = hashlib.sha256(data).hexdigest()
        (directory / "blob").rename(directory / "blobs/sha256" / digest)
        return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest}", "size": len(data)}

    def path_of(descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")

    words = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    packages = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    package = next(package for package in packages if package["name"] == "zklock")
    labels = {LABEL + label: package[key] for label, key in LABELS.items() if package[key]}
    labels |= {LABEL + "revision": revision} if revision else {}
    name = f"{package['name']}:{package['version']}"
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    platform = {"os": "linux"} | PROCESSORS[processor]
    layers = [add("layer.v1.tar+gzip", layer)]
    config = add("config.v1+json", platform | {
        "created": created,
        "config": {"User": USER, "Entrypoint": ["/zklock"], "Cmd": ["--help"], "WorkingDir": "/", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(gzip.decompress(layer)).hexdigest()]},
        "history": [{"created": created, "created_by": "scripts/package image"}],
    })
    manifest = {
        "schemaVersion": 2,
        "mediaType": MEDIA + "manifest.v1+json",
        "config": config,
        "layers": layers,
        "annotations": labels,
    }
    # The first is the tag that tools look for in a layout, the second the whole name, for containerd and Docker.
    tags = {LABEL + "ref.name": package["version"], "io.containerd.image.name": f"docker.io/library/{name}"}
    entry = add("manifest.v1+json", manifest) | {"platform": platform, "annotations": tags}
    write("oci-layout", {"imageLayoutVersion": "1.0.0"})
    write("index.json", {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [entry]})
    contents = {"Config": path_of(config), "RepoTags": [name], "Layers": [path_of(layer) for layer in layers]}
    write("manifest.json", [contents])


if __name__ == "__main__":
    main(*sys.argv[1:])
