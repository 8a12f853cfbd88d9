#!/bin/sh
# Measures speed by the number of threads, with random weights that it makes itself. It takes about three minutes on 16 CPUs.
# Usage: scripts/cores.sh                   builds, and measures on all CPUs
#        scripts/cores.sh -build FOLDER     builds only: static binaries, and the tokenizer that they read
#        BINARIES=FOLDER scripts/cores.sh   measures with what was built before, perhaps on another machine
# THREADS sets the most threads. PROFILES names a folder for CPU profiles, ROUNDS multiplies the number of rounds.
set -eu
cd "$(dirname "$0")/.."
build() {
	mkdir -p "$1/testdata"
	for package in text generation kernels; do
		(cd "$package" && CGO_ENABLED=0 "${GO:-go}" test -c -ldflags '-s -w' -o "$1/$package.test" .)
	done
	cp -R text/testdata/embed "$1/testdata/"
}
if [ "${1:-}" = -build ]; then
	mkdir -p "$2"
	build "$(cd "$2" && pwd)"
	exit
fi
binaries=${BINARIES:-}
if [ -z "$binaries" ]; then
	binaries=$(mktemp -d)
	trap 'rm -rf "$binaries"' EXIT
	build "$binaries"
fi
if [ -n "${PROFILES:-}" ]; then
	mkdir -p "$PROFILES"
	PROFILES=$(cd "$PROFILES" && pwd)
	export PROFILES
fi
cd "$binaries"
# measure PACKAGE BENCHMARK ROUNDS
measure() {
	"./$1.test" -test.run '^$' -test.bench "$2" -test.benchtime "$((${ROUNDS:-1} * $3))x" -test.cpu "${THREADS:-$(nproc)}" |
		grep --line-buffered -v -e '^goos' -e '^goarch' -e '^pkg' -e '^PASS'
	echo "# $2: $(($(date +%s) - began)) s since the start"
}
began=$(date +%s)
# The most telling measurements come first, in case time runs out.
measure text '^BenchmarkOneText$' 5
measure text '^BenchmarkOneCaller$/MiniLM' 2
measure generation '^BenchmarkThreads$/q4_0' 3
measure kernels '^Benchmark(Meetings|ProductThreads)$' 5
measure text '^BenchmarkOneCaller$/BERT-base/int8' 2
measure generation '^BenchmarkThreads$/bf16' 2
measure generation '^BenchmarkThreads$/q8_0' 2
measure text '^BenchmarkOneCaller$/BERT-base/f32' 2
