#!/bin/sh
# Speed by the number of threads, with random weights: one caller beside as many as there are threads, and single texts.
# Usage: scripts/cores.sh [THREADS]        such as 1,2,4,8,16, which is the default
#        scripts/cores.sh -build FILE      builds the binary only; copy it to another machine together with text/testdata/embed
#        BINARY=FILE scripts/cores.sh      runs that binary, in a folder that has testdata/embed
set -eu
cd "$(dirname "$0")/../text"
build() { CGO_ENABLED=0 "${GO:-go}" test -c -o "$1" .; }
if [ "${1:-}" = -build ]; then
	build "$2"
	exit
fi
threads=${1:-1,2,4,8,16}
binary=${BINARY:-}
if [ -z "$binary" ]; then
	binary=$(mktemp)
	trap 'rm -f "$binary"' EXIT
	build "$binary"
fi
"$binary" -test.run '^$' -test.bench '^Benchmark(OneCaller|OneText)$' -test.cpu "$threads" -test.benchtime "${ROUNDS:-10}x"
