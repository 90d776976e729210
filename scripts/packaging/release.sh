# The sources of both crates, all packages of a release, and whether these can be reproduced. Sourced.

# Cargo builds both from their archives, the program with the other archive in place of the published core.
make_crates() {
    local name
    CARGO_TARGET_DIR=$target_dir cargo package --workspace --exclude testkit --locked >&2
    for name in "zklock-core-$version" "zklock-$version"; do
        tar --list --file "$results/$name.crate" "$name/LICENSE" >/dev/null || fail "$name.crate has no licence"
        finished "$results/$name.crate"
    done
}

make_release() {
    local kind tags
    tags=$(git tag --points-at HEAD 'v*' 2>/dev/null | paste -sd ' ' || true)
    [[ -z $tags || " $tags " == *" v$version "* ]] || fail "this commit is tagged $tags, but Cargo.toml has version $version"
    for kind in crates deb rpm tar image; do scripts/package "$kind"; done
}

# Compares the packages of two clones of the same commit. Each has a directory of another depth, and the second another
# home for cargo and another umask. They share nothing that is built, only cargo's downloads and the programs in .tools.
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
    all_in "$root" "${clones[0]}"
    (umask 027 && CARGO_HOME=$work/cargo all_in "${clones[@]}")
    diff "${clones[@]/%//$result}" >&2 || fail "two builds of the same commit differ; see above"
    cat "${clones[0]}/$result"
}

# all_in SOURCE DIRECTORY: makes all packages in a new clone there.
all_in() {
    git clone --quiet "$1" "$2"
    mkdir -p "$root/.tools" && ln -s "$root/.tools" "$2/.tools"
    (unset CARGO_TARGET_DIR && "$2/scripts/package" release) >&2
}
