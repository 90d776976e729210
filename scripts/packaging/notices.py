#!/usr/bin/env python3
"""Prints the licences of everything that is linked into zklock: its crates, Rust's standard library, musl.

Usage: scripts/packaging/notices.py TARGET

A crate without a licence, or without its text, is an error.
"""

import html.parser
import pathlib
import re
import subprocess
import sys

import crates

RULE = "=" * 100
# The one licence here whose text has no name of an author in it, so that any copy of it is the right one.
APACHE = re.compile(r"\s*Apache License\s+Version 2\.0.*END OF TERMS AND CONDITIONS", re.DOTALL)
# Such files have the text of a licence, or the notices that a licence says must go with it.
FILES = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?", re.IGNORECASE)


class Text(html.parser.HTMLParser):
    """The text of a page without its marks."""

    def __init__(self, page):
        super().__init__()
        self.parts = []
        self.feed(page)

    def handle_data(self, data):
        self.parts.append(data)

    def __str__(self):
        lines = [line.rstrip() for line in "".join(self.parts).splitlines()]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def texts_of(package):
    directory = pathlib.Path(package["manifest_path"]).parent
    files = [file for file in sorted(directory.iterdir()) if file.is_file() and FILES.fullmatch(file.name)]
    return [file.read_text("utf-8").replace("\r\n", "\n").strip() for file in files]


def standard_library():
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, stdout=subprocess.PIPE, text=True)
    page = pathlib.Path(sysroot.stdout.strip(), "share/doc/rust/COPYRIGHT-library.html")
    try:
        return str(Text(page.read_text("utf-8")))
    except FileNotFoundError:
        sys.exit(
            f"package: this Rust toolchain has no licences of Rust's standard library: {page} is missing\n"
            "    use a toolchain that rustup has installed, in any profile"
        )


def main(target):
    # The core is zklock's own.
    others = [package for package in crates.shipped(target)[1] if package["source"]]
    texts = {package["id"]: texts_of(package) for package in others}
    apache = next(text for found in texts.values() for text in found if APACHE.match(text))
    missing, users = [], {}
    print("zklock contains these crates, under these licences. Their texts follow.\n")
    for package in others:
        name = f"{package['name']} {package['version']}"
        found = texts[package["id"]] or ([apache] if package["license"] == "Apache-2.0" else [])
        if not package["license"] or not found:
            missing.append(name)
        print(f"  {name}: {package['license']}")
        for text in found:
            users.setdefault(text, []).append(name)
    if missing:
        sys.exit(f"these crates have no licence, or no text of it: {', '.join(missing)}")
    print("\nIt also contains Rust's standard library" + (" and musl." if "musl" in target else "."))
    for text, names in users.items():
        print(f"\n{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}")
    print(f"\n{RULE}\nRust's standard library, for all its targets\n{RULE}\n\n{standard_library()}")
    if "musl" in target:
        musl = pathlib.Path(__file__).with_name("musl-copyright").read_text("utf-8")
        print(f"\n{RULE}\nmusl, the C library\n{RULE}\n\n{musl.strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
