# The RPM package, with the contents of the Debian package. Sourced.

cargo_generate_rpm_version=0.21.1

# Where RPM's distributions have what Debian has elsewhere. Only Debian has a changelog of its own form.
rpm_places=(-e 's#^usr/share/zsh/vendor-completions/#usr/share/zsh/site-functions/#'
    -e 's#^usr/share/doc/zklock/\(THIRD-PARTY-NOTICES.gz\)#usr/share/licenses/zklock/\1#'
    -e 's#^usr/share/doc/zklock/copyright#usr/share/licenses/zklock/LICENSE#'
    -e '\#^usr/share/doc/zklock/changelog.gz#d')

make_rpm() {
    local package cargo_tool file
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
    while read -r file; do
        [[ -s $work/$file ]] || fail "$package has no $file"
    done < <(printf '%s\n' "${deb_contents[@]}" | sed "${rpm_places[@]}")
    runs "$work/usr/bin/zklock"
    only_c_library "$work/usr/bin/zklock"
    no_dead_links "$work/usr/share/doc/zklock"
    ! have rpmlint || rpmlint --config scripts/packaging/rpmlint.toml "$package" >&2 ||
        fail "rpmlint reports problems in $package; see above"
    finished "$package"
}
