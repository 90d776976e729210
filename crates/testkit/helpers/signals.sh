# Prints "ready PID", then "got NAME" for each signal that comes. Exits when SECONDS are over, or by a signal
# for which it was told a code.
#
# usage: bash signals.sh [NAME=CODE ...] [SECONDS]
declare -A codes
seconds=60
for word in "$@"; do
    case $word in
    *=*) codes[${word%=*}]=${word#*=} ;;
    *) seconds=$word ;;
    esac
done

got() {
    echo "got $1"
    [ -z "${codes[$1]}" ] || exit "${codes[$1]}"
}

for name in INT TERM HUP QUIT USR1 USR2 ALRM WINCH CONT; do
    # shellcheck disable=SC2064 # the name is to be expanded now
    trap "got $name" "$name"
done
trap 'kill "$sleeper" 2>/dev/null' EXIT

echo "ready $$"
end=$((SECONDS + seconds))
while [ "$SECONDS" -lt "$end" ]; do
    # Only `wait` lets a trap run at once. A signal to the group may end the sleep; the loop starts another.
    sleep 0.5 &
    sleeper=$!
    wait "$sleeper"
done
