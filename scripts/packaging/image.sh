# The container image: one tar file that is an OCI layout and an archive for `docker load`. Sourced.

# It contains the static program and what its licences ask for. A container's /proc, /dev, /etc/hosts and
# /etc/resolv.conf come from the engine. Certificates of authorities would grow old in it: --tls-ca names the user's.
make_image() {
    local image pages
    build
    is_static
    runs "$program"
    image=$results/zklock-$version-$triple.image.tar
    work=$(mktemp -d)
    pages=$work/pages
    make_pages "$pages"
    mkdir -p "$work"/rootfs/licenses "$results"
    install -m 755 "$program" "$work/rootfs/zklock"
    install -m 644 LICENSE "$pages"/{THIRD-PARTY-NOTICES,zklock.cdx.json} "$work/rootfs/licenses"
    archive "$work/rootfs" licenses zklock | gzip -9n >"$work/layer.tar.gz"
    labels >"$work/labels.json"
    scripts/packaging/oci.py "$work/layout" "$work/layer.tar.gz" "$program" "$work/labels.json"
    archive "$work/layout" oci-layout index.json manifest.json blobs >"$image"
    finished "$image"
}

# labels: prints those of the names that OCI defines which the sources know.
labels() {
    local revision
    revision=$(git rev-parse HEAD 2>/dev/null || true)
    [[ -z $revision ]] || git diff --quiet HEAD || revision+=-modified
    cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import json, sys
package = next(package for package in json.load(sys.stdin)["packages"] if package["name"] == "zklock")
keys = {"title": "name", "version": "version", "description": "description", "licenses": "license", "source": "repository"}
labels = {label: package[key] for label, key in keys.items() if package[key]}
print(json.dumps(labels | ({"revision": sys.argv[1]} if sys.argv[1] else {})))' "$revision"
}
