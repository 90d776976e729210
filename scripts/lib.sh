# shellcheck shell=bash
# Functions that the other scripts share. This file is sourced, never run.

# The project's directory, whatever the working directory is.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Messages go to stderr: stdout is for output that another program may read.
say() { printf '%s\n' "$@" >&2; }

# fail WHAT-HAPPENED [WHAT-TO-DO...]
fail() {
    say "${0##*/}: $1"
    shift
    [[ $# -eq 0 ]] || printf '    %s\n' "$@" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# --- the system's packages ----------------------------------------------------------------------------

# Whether this user may install packages.
can_install() { have apt-get && { [[ $EUID -eq 0 ]] || sudo -n true 2>/dev/null; }; }

# Installs packages, and says by which command. If this user may not, it only says so, and returns 1.
install_packages() {
    (($# > 0)) || return 0
    local as_root=() install=(apt-get install --no-install-recommends "$@") deadline=$((SECONDS + 120)) output
    [[ $EUID -eq 0 ]] || as_root=(sudo)
    have apt-get || { say "missing: $*; they can't be installed without apt-get"; return 1; }
    can_install || { say "missing: $*. Installing them needs root:" "    sudo ${install[*]}"; return 1; }
    say "installing:" "    ${as_root[*]}${as_root:+ }${install[*]}"
    as_root+=(env LC_ALL=C DEBIAN_FRONTEND=noninteractive)
    # After a boot, another program is often installing packages too, so wait for its lock.
    install=("${as_root[@]}" "${install[@]}" --quiet=2 --yes --option DPkg::Lock::Timeout=120)
    # The package lists may be missing or too old. Fetching them is slow, so that is done only after a failure.
    output=$("${install[@]}" 2>&1 </dev/null) && return
    say "    apt-get update, and the same again"
    # `update` ignores the lock timeout.
    until output=$("${as_root[@]}" apt-get --quiet=2 update 2>&1 </dev/null) || [[ $output != *lock* ]] || ((SECONDS > deadline)); do
        sleep 1
    done
    output+=$("${install[@]}" 2>&1 </dev/null) && return
    say "apt-get could not install them. Its last messages:"
    tail -n 8 <<<"$output" | sed 's/^/    /' >&2
    return 1
}

# missing_commands COMMAND:PACKAGE...: prints the packages of the missing commands
missing_commands() {
    local pair
    for pair; do have "${pair%:*}" || printf '%s\n' "${pair#*:}"; done
}

# need_commands COMMAND:PACKAGE...
need_commands() {
    local pair
    for pair; do
        have "${pair%:*}" || install_packages "${pair#*:}" ||
            fail "${pair%:*} is not installed" "install the package ${pair#*:}"
    done
}

# --- processes ------------------------------------------------------------------------------------------

# Words before a command. A background process of a script ignores INT, also if this script is one, and its zklocks would
# too. `env` undoes that if it has the option.
clean=(env --default-signal)
"${clean[@]}" true 2>/dev/null || clean=()

# start_zookeeper start|ensemble DIRECTORY: prints the connect string. What scripts/zookeeper says goes to DIRECTORY.log.
start_zookeeper() {
    local line
    line=$("$root/scripts/zookeeper" "$1" --port 0 --dir "$2" 2>"$2.log") || { cat "$2.log" >&2 && return 1; }
    printf '%s\n' "${line#*=}"
}

# --- what can't run everywhere ---------------------------------------------------------------------------

# skip WHAT: says so, also in the last line of scripts/test
skip() {
    say "skipped: $1"
    [[ -z ${SKIPPED_TESTS:-} ]] || echo "$1" >>"$SKIPPED_TESTS"
}

# The words before a command that may make machines of its own, and files in TMPDIR, which go with it. When the process
# of these words ends, however it ends, the kernel ends all that the command has started. They end at once with 1 if that
# isn't allowed.
#
# The first process of the namespaces reaps what others leave, which is what a shell does.
# shellcheck disable=SC2016 # the inner shell's
on_own_network=(unshare --net --mount --pid --kill-child --mount-proc bash -ec '
    mount -t tmpfs tmpfs /run
    ip link add probe type bridge
    nft "add table bridge probe ; add chain bridge probe c { type filter hook forward priority 0 ; }"
    nft delete table bridge probe
    ip link del probe
    TMPDIR=/run "$@"
    exit' bash)
[[ $EUID -eq 0 ]] || on_own_network=(unshare --user --map-root-user "${on_own_network[@]:1}")

# --- what several scripts need ---------------------------------------------------------------------------

kazoo_version=2.11.0
prometheus_client_version=0.26.0

# missing_for rust|zookeeper|neighbours|python...: prints the packages that these lack.
missing_for() {
    local what
    for what; do
        case $what in
            # Rust links with the C compiler.
            rust) have cc || printf '%s\n' gcc libc6-dev ;;
            # The library's package is enough to run a server, and doesn't start one by itself.
            zookeeper)
                missing_commands "${JAVA_HOME:+$JAVA_HOME/bin/}java:default-jre-headless"
                [[ -n ${ZOOKEEPER_HOME:-} || -e /usr/share/java/zookeeper.jar ]] || echo libzookeeper-java
                ;;
            # Other lock programs with which zklock is tested.
            neighbours)
                missing_commands "${JAVA_HOME:+$JAVA_HOME/bin/}javac:default-jdk-headless"
                [[ -e /usr/share/java/curator-recipes.jar ]] || echo libcurator-recipes-java
                has_python kazoo "$kazoo_version" || missing_for python
                ;;
            # Debian's Python needs this package to create a virtual environment.
            python) python3 -c 'import ensurepip, venv' 2>/dev/null || printf '%s\n' python3 python3-venv ;;
        esac
    done | sort -u
}

# need rust|zookeeper|neighbours...: installs what these lack. All packages are named together, so that a user without
# root has to ask for them only once.
need() {
    local missing
    [[ " $* " != *' rust '* ]] || need_cargo
    [[ -z ${ZOOKEEPER_HOME:-} ]] || compgen -G "$ZOOKEEPER_HOME/lib/*.jar" >/dev/null ||
        fail "ZOOKEEPER_HOME is $ZOOKEEPER_HOME, which has no lib/*.jar" \
            "set it to an unpacked ZooKeeper release, or unset it to use the system's package"
    mapfile -t missing < <(missing_for "$@")
    install_packages "${missing[@]}" ||
        fail "this needs ${missing[*]}" "install the packages above, or for ZooKeeper a Java runtime and a release," \
            "whose directory you set ZOOKEEPER_HOME to"
    [[ " $* " == *' neighbours '* ]] || return 0
    install_python kazoo "$kazoo_version" --only-binary=:all: ||
        fail "kazoo $kazoo_version can't be installed into .tools/venv" "check that pip can reach its package index"
    # Without it, tests of metrics are skipped, and say so.
    install_python prometheus-client "$prometheus_client_version" --only-binary=:all: || true
}

# --- Python packages -----------------------------------------------------------------------------------

# has_python PACKAGE VERSION: whether .tools/venv has it
has_python() {
    [[ $("$root/.tools/venv/bin/python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))' "$1" 2>/dev/null) == "$2" ]]
}

# install_python PACKAGE VERSION [OPTION...]: installs it into .tools/venv, without what it depends on, if it isn't there.
install_python() {
    ! has_python "$1" "$2" || return 0
    say "installing:" "    .tools/venv/bin/python -m pip install --no-deps $1==$2${3:+ ${*:3}}"
    { python3 -m venv "$root/.tools/venv" &&
        timeout 300 "$root/.tools/venv/bin/python" -m pip install --quiet --no-input \
            --disable-pip-version-check --no-deps "${@:3}" "$1==$2"; } >/dev/null 2>&1
}

# --- programs of a certain version ------------------------------------------------------------------------

# find_tool PROGRAM VERSION: prints where it is, in the PATH or in .tools.
find_tool() {
    local candidate
    for candidate in "$1" "$root/.tools"/{venv/bin,bin}/"$1"; do
        [[ $("$candidate" --version 2>/dev/null | head -n 1) != *"$2" ]] || { printf '%s\n' "$candidate" && return; }
    done
    return 1
}

# need_cargo_tool NAME VERSION: sets $cargo_tool. It is built into .tools, so that the user's own tools aren't changed.
# shellcheck disable=SC2034 # the caller uses it
need_cargo_tool() {
    cargo_tool=$(find_tool "$1" "$2") && return
    say "building, which takes minutes:" "    cargo install $1 --locked --version $2 --root .tools"
    cargo install "$1" --quiet --force --locked --version "$2" --root "$root/.tools"
    cargo_tool=$root/.tools/bin/$1
}

# --- other versions --------------------------------------------------------------------------------------

# What is fetched or built once: other versions of ZooKeeper, Curator and zklock.
versions_store() { printf '%s\n' "${ZKLOCK_VERSIONS:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/zklock}"; }

# Before the first release, zklock is tested beside this one.
first_edition=d41983705c3db6e582b24c3ada7c8f8774a6d809

# zklock_commit REV: prints the commit; without a REV that of the last release before this commit. Returns 1 if this clone
# doesn't have it, and says why.
zklock_commit() {
    local wanted=$1 problem
    have git || { say "git is not installed" && return 1; }
    problem=$(git rev-parse --git-dir 2>&1 >/dev/null) || { head -n 1 <<<"${problem#fatal: }" >&2 && return 1; }
    [[ -n $wanted ]] || wanted=$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null) || wanted=$first_edition
    git rev-parse --verify --quiet "$wanted^{commit}" ||
        { say "this clone has no commit $wanted; if it is a shallow one: git fetch --unshallow --tags" && return 1; }
}

# zklock_of COMMIT: prints the program of this commit, which is built if it isn't there. The dependencies are those of the
# project's own build, except where the versions differ: it takes seconds.
zklock_of() {
    local home partial directories
    home=$(realpath -m "$(versions_store)")/zklock-${1:0:12}
    partial=$home.partial
    # The project's build directory has the dependencies.
    directories=(CARGO_BUILD_BUILD_DIR="$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")" CARGO_TARGET_DIR="$partial/target")
    if [[ ! -x $home/zklock ]]; then
        say "building zklock at ${1:0:12}:" "    cargo build --locked"
        rm -rf "$partial" "$home"
        mkdir -p "$partial/source"
        git archive "$1" | tar -x -C "$partial/source"
        # With the project's settings, or the dependencies would be compiled again.
        (cd "$partial/source" && env "${directories[@]}" CARGO_INCREMENTAL=0 cargo build --locked --quiet \
            --config 'profile.dev.package."*".debug=false' --config profile.dev.debug=0) >&2 || fail "zklock at $1 can't be built" "see above"
        mv "$partial/target/debug/zklock" "$partial/zklock"
        rm -rf "$partial/source" "$partial/target"
        mv "$partial" "$home"
    fi
    printf '%s\n' "$home/zklock"
}

# --- Rust ---------------------------------------------------------------------------------------------

# need_cargo [COMPONENT...], as rustup names them: rustfmt, clippy
need_cargo() {
    local wanted found component
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
    # rustup's directory isn't in the PATH of a cron job or of the shell that has just installed it.
    have cargo || PATH="$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin"
    have cargo || fail "cargo is not installed; zklock needs Rust $wanted or newer" \
        "install it with rustup: https://www.rust-lang.org/tools/install"
    found=$(rustc --version | cut -d ' ' -f 2)
    [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]] ||
        fail "this is Rust $found; zklock needs $wanted or newer" "run: rustup update stable"
    for component; do
        cargo "${component#rust}" --version >/dev/null 2>&1 ||
            fail "the toolchain has no $component" "run: rustup component add $component"
    done
}
