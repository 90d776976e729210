# The static program, alone, in an archive and in a container image. Sourced.

# build_static: builds the program, which must need no library.
build_static() {
    build
    ! readelf --program-headers --wide "$program" | grep -w INTERP >&2 || fail "$program needs libraries:" \
        "$(readelf --dynamic --wide "$program" | grep NEEDED)"
    runs "$program"
}

make_static() {
    build_static
    echo "${program#"$root/"}"
}

make_tar() {
    local name directory pages
    build_static
    name=zklock-$version-$triple
    work=$(mktemp -d)
    pages=$work/pages
    make_pages "$pages"
    directory=$work/$name
    mkdir -p "$directory"/{man/man1,completions,docs/examples} "$results"
    install -m 755 "$program" "$directory/zklock"
    install -m 644 "$pages/zklock.1" "$directory/man/man1"
    install -m 644 "$pages"/{zklock.bash,_zklock,zklock.fish} "$directory/completions"
    install -m 644 LICENSE "$pages"/{THIRD-PARTY-NOTICES,zklock.cdx.json} ./*.md "$directory"
    install -m 644 docs/*.{md,svg} "$directory/docs"
    # What the tests read in the pages.
    sed -i -e '/^<!--.*-->$/d' -e '/^<!--/,/-->$/d' "$directory"/*.md "$directory"/docs/*.md
    install -m 644 docs/examples/* "$directory/docs/examples"
    no_dead_links "$directory"
    archive "$work" "$name" | gzip -9n >"$results/$name.tar.gz"
    finished "$results/$name.tar.gz"
}

# One tar file that is an OCI layout and an archive for `docker load`.
#
# It contains the static program and what its licences ask for. A container's /proc, /dev, /etc/hosts and
# /etc/resolv.conf come from the engine. Certificates of authorities would grow old in it: --tls-ca names the user's.
make_image() {
    local image pages revision
    build_static
    image=$results/zklock-$version-$triple.image.tar
    work=$(mktemp -d)
    pages=$work/pages
    make_pages "$pages"
    mkdir -p "$work"/rootfs/licenses "$results"
    install -m 755 "$program" "$work/rootfs/zklock"
    install -m 644 LICENSE "$pages"/{THIRD-PARTY-NOTICES,zklock.cdx.json} "$work/rootfs/licenses"
    archive "$work/rootfs" licenses zklock | gzip -9n >"$work/layer.tar.gz"
    revision=$(git rev-parse HEAD 2>/dev/null || true)
    [[ -z $revision ]] || git diff --quiet HEAD || revision+=-modified
    scripts/packaging/oci.py "$work/layout" "$work/layer.tar.gz" "${triple%%-*}" "$revision"
    archive "$work/layout" oci-layout index.json manifest.json blobs >"$image"
    finished "$image"
}
