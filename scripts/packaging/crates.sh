# The sources of both crates as cargo publishes them. Sourced.

# Cargo could install the program from them only once the core is published. So the core's unpacked archive stands in for
# it. Its other dependencies are those of Cargo.lock, and are compiled already.
make_crates() {
    local core=zklock-core-$version program=zklock-$version archive
    cargo package --workspace --locked --no-verify >&2
    work=$(mktemp -d)
    for archive in "$core" "$program"; do
        tar --extract --gzip --file "$results/$archive.crate" --directory "$work"
        [[ -s $work/$archive/README.md && -s $work/$archive/LICENSE ]] || fail "$archive.crate has no readme or no licence"
    done
    no_dead_links "$work/$program"
    CARGO_TARGET_DIR=$target_dir cargo install --quiet --offline --debug --no-track --root "$work" \
        --path "$work/$program" --config "patch.crates-io.zklock-core.path='$work/$core'" >&2
    runs "$work/bin/zklock"
    finished "$results/$core.crate"
    finished "$results/$program.crate"
}
