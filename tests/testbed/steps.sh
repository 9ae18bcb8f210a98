# Sourced. `step NAME COMMAND…` runs one step quietly and prints one line with its seconds; a failing step shows all it said.
step() {
    local name=$1 log start status=0
    shift
    log=$(mktemp)
    start=$SECONDS
    # Not in an `if`: that would switch off `errexit` inside the command.
    set +e
    (set -e; "$@") >"$log" 2>&1
    status=$?
    set -e
    if [ "$status" -eq 0 ]; then
        printf '%-60s ok     %4ds\n' "$name" $((SECONDS - start))
    else
        cat "$log"
        printf '%-60s FAILED %4ds\n' "$name" $((SECONDS - start))
    fi
    STEP_LOG=$(cat "$log")
    rm -f "$log"
    return "$status"
}
