# The Debian package, and the RPM package with the same contents. Sourced.

cargo_deb_version=3.8.0
deb_contents=(usr/bin/zklock usr/share/man/man1/zklock.1.gz usr/share/bash-completion/completions/zklock
    usr/share/zsh/vendor-completions/_zklock usr/share/fish/vendor_completions.d/zklock.fish
    usr/share/doc/zklock/{copyright,README.md,changelog.gz,docs/examples/zklock.toml,docs/usage.md,docs/queue.svg}
    usr/share/doc/zklock/{THIRD-PARTY-NOTICES.gz,zklock.cdx.json})

make_deb() {
    local package cargo_tool
    need_commands dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev lintian:lintian
    need_cargo_tool cargo-deb "$cargo_deb_version"
    build
    make_pages target/pages # where Cargo.toml looks for them
    mkdir -p "$results"
    # With an explicit name, the path of the package is known in advance.
    package=$results/zklock_${version}_$(debian_architecture).deb
    "$cargo_tool" --no-build --locked --target "$triple" --output "$package" >&2

    work=$(mktemp -d)
    dpkg-deb --extract "$package" "$work/unpacked"
    has_all "$work/unpacked" "${deb_contents[@]}"
    # lintian warns if it runs as root. It doesn't mind that dpkg computes the MD5 sums of the files, not cargo-deb.
    lintian --allow-root --fail-on error,warning "$package" >&2 || fail "lintian reports problems in $package; see above"
    dpkg-deb --field "$package" Package Version Architecture Depends >&2
    finished "$package"
}

debian_architecture() { dpkg-architecture --host-type "${triple/-unknown/}" --query DEB_HOST_ARCH; }

cargo_generate_rpm_version=0.21.1

# Where RPM's distributions have what Debian has elsewhere. Only Debian has a changelog of its own form.
rpm_places=(-e 's#^usr/share/zsh/vendor-completions/#usr/share/zsh/site-functions/#'
    -e 's#^usr/share/doc/zklock/\(THIRD-PARTY-NOTICES.gz\)#usr/share/licenses/zklock/\1#'
    -e 's#^usr/share/doc/zklock/copyright#usr/share/licenses/zklock/LICENSE#'
    -e '\#^usr/share/doc/zklock/changelog.gz#d')

make_rpm() {
    local package cargo_tool contents
    need_commands cpio:cpio rpm2cpio:rpm2cpio
    need_cargo_tool cargo-generate-rpm "$cargo_generate_rpm_version"
    build
    make_pages target/pages # where Cargo.toml looks for them
    mkdir -p "$results"
    package=$results/zklock-$version-1.${triple%%-*}.rpm
    # Not with the requirements that a script of this machine would find.
    "$cargo_tool" generate-rpm --target "$triple" --auto-req builtin --source-date "$SOURCE_DATE_EPOCH" \
        --output "$package" >&2

    work=$(mktemp -d)
    # rpm2cpio ends with 1 because the package doesn't state the size of its archive; what is missing is seen below.
    { rpm2cpio "$package" || true; } | (cd "$work" && cpio --extract --quiet --make-directories)
    mapfile -t contents < <(printf '%s\n' "${deb_contents[@]}" | sed "${rpm_places[@]}")
    has_all "$work" "${contents[@]}"
    finished "$package"
}
