# What a release consists of. Sourced.

make_release() {
    local kind tags
    tags=$(git tag --points-at HEAD 'v*' 2>/dev/null | paste -sd ' ' || true)
    [[ -z $tags || " $tags " == *" v$version "* ]] || fail "this commit is tagged $tags, but Cargo.toml has version $version"
    for kind in crates deb rpm tar image; do scripts/package "$kind"; done
}
