#!/bin/sh
# Runs test programs one after another and prints a line for each; what a program has to say is
# shown only when it fails. Ends with the totals, alone on the last line.
#
# usage: run.sh PROGRAM ...        TEST_TIMEOUT=seconds a program (default 900)
set -u

export DUET_VERIFY="${DUET_VERIFY-1}" # graphs are verified after every pass
export TSAN_OPTIONS="${TSAN_OPTIONS-suppressions=$(cd "$(dirname "$0")" && pwd)/tsan.supp}"

out=$(mktemp) && trap 'rm -f "$out"' EXIT
passed=0 failed=0

for program in "$@"; do
    begin=$(date +%s.%N)
    timeout "${TEST_TIMEOUT:-900}" "$program" >"$out" 2>&1 </dev/null
    status=$?
    seconds=$(echo "$begin $(date +%s.%N)" | awk '{printf "%.1f", $2 - $1}')

    # cmocka lists its failures once more after the line "N test(s) run."; count what is above it.
    counts=$(awk '/test\(s\) run\.$/    { exit }
                  /^\[       OK \]/     { good++ }
                  /^\[  FAILED  \]/     { bad++ }
                  END                   { print good + 0, bad + 0 }' "$out")
    good=${counts% *} bad=${counts#* }

    # Failed without a failing test: a crash, a time-out, a sanitizer, a failing group set-up.
    why=
    if [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        why="exit status $status"
        [ $status -eq 124 ] && why='timed out'
        during=$(sed -n 's/^\[ RUN      \] //p' "$out" | tail -n 1)
        why="$why, last in ${during:-main}"
    fi

    passed=$((passed + good)) failed=$((failed + bad))
    verdict=ok
    [ "$bad" -gt 0 ] && verdict=FAILED
    printf '  %-6s %-32s %4d passed%s  %6s s\n' "$verdict" "${program#*tests/}" "$good" \
        "$([ "$bad" -gt 0 ] && printf ', %d failed' "$bad")" "$seconds"
    if [ "$bad" -gt 0 ]; then
        grep -vE '^\[( RUN      |       OK |==========|  PASSED  )\]' "$out" | sed 's/^/         /'
        [ -n "$why" ] && echo "         $why"
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
