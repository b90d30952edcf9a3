#!/bin/sh
# What a reader should not have to look for: warnings of two compilers, formatting, files and
# functions that grew too long, includes that leave their layer. A tool that is not there is
# named and skipped.
set -u

max_file=500 max_function=65 # lines
layers='runtime ops executors bench tests'
jobs=$(nproc 2>/dev/null || echo 2)
failures=0

fail() {
    echo "lint: $*"
    failures=$((failures + 1))
}
setting() { MAKEFLAGS= make -s "print-$1" | sed 's/^[^=]*= //'; }
sources() { find "$1" -name "$2" | sort; }
texts() { find "$@" \( -name '*.[ch]' -o -name '*.inc' \) 2>/dev/null | sort; }
all=$(texts $layers) # what is included in pieces (*.inc) compiles with its includers only

flags="$(setting FLAGS) -Werror -fsyntax-only"

# Every source with the include paths of its layer only, several at a call. gcc also reads every
# header by itself; what clang has to say about one it says where it is included.
for compiler in gcc clang; do
    command -v $compiler >/dev/null || {
        echo "lint: skipped the warnings of $compiler, which is not installed"
        continue
    }
    for layer in $layers; do
        command="$compiler $flags $(setting "INC_$layer")"
        complaint="$compiler has something to say about $layer"
        sources $layer '*.c' | xargs -P "$jobs" -n 8 $command || fail "$complaint"
        [ $compiler = gcc ] || continue
        sources $layer '*.h' | xargs -P "$jobs" -I FILE $command -include FILE -x c /dev/null ||
            fail "$complaint"
    done
done

if command -v clang-format >/dev/null; then
    clang-format --dry-run -Werror $all || fail 'run `make format`'
else
    echo 'lint: skipped the formatting: clang-format is not installed'
fi

# A function begins at a line in the first column and ends at the closing brace there.
awk -v max_file=$max_file -v max_function=$max_function '
    FNR == 1            { if (name != "") file_end(); name = FILENAME; inside = 0 }
                        { lines = FNR }
    /^[A-Za-z_]/        { begin = FNR; head = $0 }
    !inside && /\) \{$/ { inside = 1 }
    inside && /^\}/     {
        inside = 0
        if (FNR - begin + 1 > max_function)
            complain(begin, "function of " FNR - begin + 1 " lines: " head)
    }
    function file_end() { if (lines > max_file) complain(lines, "file of " lines " lines") }
    function complain(line, what) { print "lint: " name ":" line ": " what; bad = 1 }
    END                 { file_end(); exit bad }
' $all || fail "at most $max_file lines a file and $max_function a function"

grep -n '#include "\.\./' $all && fail 'an include must not climb out of its folder'
grep -ln '#include <cblas.h>' $all | grep -v '^runtime/blas\.c$' &&
    fail 'only runtime/blas.c may include cblas.h'

[ $failures -eq 0 ] && echo "lint: $(echo "$all" | wc -l) files, nothing to report"
[ $failures -eq 0 ]
