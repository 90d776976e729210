# The Debian package. Sourced.

cargo_deb_version=3.8.0
deb_contents=(usr/bin/zklock usr/share/man/man1/zklock.1.gz usr/share/bash-completion/completions/zklock
    usr/share/zsh/vendor-completions/_zklock usr/share/fish/vendor_completions.d/zklock.fish
    usr/share/doc/zklock/{copyright,README.md,changelog.gz,docs/examples/zklock.toml,docs/usage.md,docs/queue.svg}
    usr/share/doc/zklock/{THIRD-PARTY-NOTICES.gz,zklock.cdx.json})

# need_cargo_tool NAME VERSION: sets $cargo_tool. It is installed into .tools, so that the user's own tools aren't changed.
need_cargo_tool() {
    local found
    for cargo_tool in "$1" ".tools/bin/$1"; do
        found=$("$cargo_tool" --version 2>/dev/null) || continue
        [[ ${found##* } != "$2" ]] || return 0
    done
    say "building $1 $2 into .tools, which takes minutes ..."
    cargo install "$1" --quiet --force --locked --version "$2" --root .tools
}

make_deb() {
    local file package cargo_tool
    need_commands dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev lintian:lintian
    need_cargo_tool cargo-deb "$cargo_deb_version"
    build
    make_pages target/pages # where Cargo.toml looks for them
    mkdir -p "$results"
    # With an explicit name, the path of the package is known in advance.
    package=$results/zklock_${version}_$(debian_architecture).deb
    "$cargo_tool" --no-build --locked --target "$triple" --output "$package" >&2

    work=$(mktemp -d)
    add_md5sums "$package"
    dpkg-deb --extract "$package" "$work/unpacked"
    dpkg-deb --info "$package" md5sums | (cd "$work/unpacked" && md5sum --check --strict --quiet >&2) ||
        fail "the MD5 sums in $package don't verify"
    for file in "${deb_contents[@]}"; do [[ -s $work/unpacked/$file ]] || fail "$package has no $file"; done
    no_dead_links "$work/unpacked/usr/share/doc/zklock"
    runs "$work/unpacked/usr/bin/zklock"
    only_c_library "$work/unpacked/usr/bin/zklock"
    install_deb "$package"
    # lintian warns if it runs as root.
    lintian --allow-root --fail-on error,warning "$package" >&2 || fail "lintian reports problems in $package; see above"
    dpkg-deb --field "$package" Package Version Architecture Depends >&2
    finished "$package"
}

# add_md5sums PACKAGE: adds the MD5 sums of its files, which every package of Debian lists; cargo-deb doesn't. Needs $work.
add_md5sums() {
    local tree=$work/tree
    dpkg-deb --raw-extract "$1" "$tree"
    (cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort --zero-terminated |
        xargs --null --no-run-if-empty md5sum -- >DEBIAN/md5sums)
    # One thread, because the bytes depend on how many there are.
    DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz --build "$tree" "$1" >/dev/null
    rm -rf "$tree"
}

debian_architecture() { dpkg-architecture --host-type "${triple/-unknown/}" --query DEB_HOST_ARCH; }

# install_deb PACKAGE: installs it like an administrator would, but into an empty root directory.
install_deb() {
    [[ $(dpkg-deb --field "$1" Architecture) == "$(dpkg --print-architecture)" ]] || return 0
    mkdir -p "$work/root/var/lib/dpkg/"{info,updates}
    : >"$work/root/var/lib/dpkg/status"
    dpkg --root="$work/root" --force-depends --force-not-root --force-script-chrootless --log=/dev/null \
        --install "$1" >"$work/log" 2>&1 || { cat "$work/log" >&2 && fail "dpkg can't install $1"; }
    dpkg --root="$work/root" --status zklock | grep -qx 'Status: install ok installed' ||
        fail "zklock is not installed after that"
    runs "$work/root/usr/bin/zklock"
}
