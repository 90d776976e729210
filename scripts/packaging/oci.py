#!/usr/bin/env python3
"""Writes an OCI layout of one layer, with the list of contents that older versions of `docker load` look for.

Usage: SOURCE_DATE_EPOCH=SECONDS scripts/packaging/oci.py LAYOUT LAYER.tar.gz PROGRAM LABELS.json

The program's file says for which processor the image is. The labels' title and version name the image.
"""

import datetime
import gzip
import hashlib
import json
import os
import pathlib
import struct
import sys

# Nobody in particular, and not root. Kubernetes' runAsNonRoot knows that of a number, but not of a name.
USER = "65532:65532"
LABEL = "org.opencontainers.image."
MEDIA = "application/vnd.oci.image."
# The field e_machine of an ELF header.
PROCESSORS = {62: {"architecture": "amd64"}, 183: {"architecture": "arm64", "variant": "v8"}}


def processor(program):
    """As OCI names it."""
    with open(program, "rb") as file:
        header = file.read(20)
    machine = struct.unpack_from("<H", header, 18)[0] if header[:6] == b"\x7fELF\x02\x01" else None
    if machine not in PROCESSORS:
        sys.exit(f"{program} is no program for x86_64 or aarch64")
    return PROCESSORS[machine]


def as_bytes(value):
    return json.dumps(value, indent=1, sort_keys=True).encode()


class Layout:
    """A directory whose files are named after their SHA-256 sums."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        (self.directory / "blobs/sha256").mkdir(parents=True)

    def write(self, name, value):
        (self.directory / name).write_bytes(as_bytes(value))

    def add(self, kind, data):
        """Adds a blob, and returns what refers to it."""
        digest = hashlib.sha256(data).hexdigest()
        (self.directory / "blobs/sha256" / digest).write_bytes(data)
        return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest}", "size": len(data)}


def config(layer, program, labels, created):
    return {
        "created": created,
        "os": "linux",
        **processor(program),
        "config": {"User": USER, "Entrypoint": ["/zklock"], "Cmd": ["--help"], "WorkingDir": "/", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(gzip.decompress(layer)).hexdigest()]},
        "history": [{"created": created, "created_by": "scripts/package image"}],
    }


def path_of(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def main(directory, layer_file, program, labels_file):
    layer = pathlib.Path(layer_file).read_bytes()
    labels = {LABEL + name: value for name, value in json.loads(pathlib.Path(labels_file).read_text("utf-8")).items()}
    name, version = labels[LABEL + "title"], labels[LABEL + "version"]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    image = config(layer, program, labels, time.strftime("%Y-%m-%dT%H:%M:%SZ"))

    layout = Layout(directory)
    layers = [layout.add("layer.v1.tar+gzip", layer)]
    config_blob = layout.add("config.v1+json", as_bytes(image))
    manifest = {
        "schemaVersion": 2,
        "mediaType": MEDIA + "manifest.v1+json",
        "config": config_blob,
        "layers": layers,
        "annotations": labels,
    }
    entry = layout.add("manifest.v1+json", as_bytes(manifest))
    entry["platform"] = {key: image[key] for key in ("architecture", "os", "variant") if key in image}
    # The first is the tag that tools look for in a layout, the second the whole name, for containerd and Docker.
    entry["annotations"] = {
        LABEL + "ref.name": version,
        "io.containerd.image.name": f"docker.io/library/{name}:{version}",
    }
    layout.write("oci-layout", {"imageLayoutVersion": "1.0.0"})
    layout.write("index.json", {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [entry]})
    tags = [f"{name}:{version}"]
    layout.write(
        "manifest.json",
        [{"Config": path_of(config_blob), "RepoTags": tags, "Layers": [path_of(layer) for layer in layers]}],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
