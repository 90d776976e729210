# Whether two builds of the same commit are the same bytes. Sourced.

# Each clone has a directory of another depth, and the second another home for cargo and another umask. They share
# nothing that is built, only cargo's downloads and the programs in .tools.
make_reproducible() {
    local clones result=target/package/SHA256SUMS
    need_commands git:git
    git diff --quiet HEAD || say "note: only what is committed is built and compared"
    need_cargo_tool cargo-deb "$cargo_deb_version"
    need_cargo_tool cargo-generate-rpm "$cargo_generate_rpm_version"
    work=$(mktemp -d)
    clones=("$work/a" "$work/a/longer/way/to/b")
    mkdir "$work/cargo"
    ln -s "${CARGO_HOME:-$HOME/.cargo}"/{registry,config.toml} "$work/cargo"
    all_in "${clones[0]}"
    (umask 027 && CARGO_HOME=$work/cargo all_in "${clones[1]}")
    diff "${clones[@]/%//$result}" >&2 || fail "two builds of the same commit differ; see above"
    cat "${clones[0]}/$result"
}

# all_in DIRECTORY: makes all packages in a new clone there.
all_in() {
    git clone --quiet "$root" "$1"
    mkdir -p "$root/.tools" && ln -s "$root/.tools" "$1/.tools"
    (unset CARGO_TARGET_DIR && "$1/scripts/package" release) >&2
}
