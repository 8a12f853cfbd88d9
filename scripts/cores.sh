#!/bin/sh
# Measures the speed with different numbers of threads, with random weights that it makes itself. It takes about three minutes on 16 CPUs.
# Usage: scripts/cores.sh                   builds, and measures on all CPUs
#        scripts/cores.sh -build FOLDER     builds only: static binaries, and the tokenizer that they read
#        BINARIES=FOLDER scripts/cores.sh   measures with binaries built before, perhaps on another machine
# At the end it compares the figures with those of earlier runs, and prints "met" or "MISSED" for each.
# THREADS sets the largest number of threads. PROFILES names a folder for CPU profiles, ROUNDS multiplies the number of rounds.
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
# summary prints for each target if it was met. The targets are the figures in doc/cores.md and doc/measurements/threads.md for 16 virtual
# CPUs of an Emerald Rapids, rounded down. For generation these are figures of Q4_0; the targets of Q8_0 and BF16 are the same.
summary() {
	awk '
	function verdict(met, text) { print (met ? "met     " : "MISSED  ") text; all++; good += met }
	/^Benchmark/ {
		name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
		split("", v); most = 1
		for (i = 3; i < NF; i += 2) {
			v[$(i + 1)] = $i
			if ($(i + 1) ~ /^[0-9]+-ms$/) { t = $(i + 1) + 0; if (t > most) most = t }
			if ($(i + 1) ~ /^one-[0-9]+-ktok/) { t = substr($(i + 1), 5) + 0; if (t > most) most = t }
			if ($(i + 1) ~ /^[0-9]+-generate-tok/) { t = $(i + 1) + 0; if (t > most) most = t }
		}
		top = sprintf("%02d", most)
	}
	name ~ /^OneText/ && /^Benchmark/ {
		texts++; last = v["01-ms"]
		for (n = 2; n <= most; n = n < most && 2 * n > most ? most : 2 * n) {
			now = v[sprintf("%02d-ms", n)]
			if (now > 1.03 * last) slower[++count] = sprintf("%s: %s ms on %d threads, %s on fewer, %.2f times as long", name, now, n, last, now / last)
			last = now
		}
	}
	name ~ /^OneCaller/ && /^Benchmark/ { calls++ }
	name ~ /^OneCaller/ && /^Benchmark/ && most > 1 {
		share = v["one/many-" top]
		verdict(share >= 0.94, sprintf("%s: one caller reaches %.2f of %d callers, want 0.94", name, share, most))
		gain = v["one-" top "-ktok/s"] / v["one-01-ktok/s"]
		verdict(gain >= 0.7 * most, sprintf("%s: %d threads are %.1f times as fast as one, want %.1f", name, most, gain, 0.7 * most))
	}
	name ~ /^Threads/ && /^Benchmark/ {
		formats++
		share = v[top "-generate-GB/s"] / v["read-GB/s"]
		verdict(share >= 0.85, sprintf("%s: one text of %s tokens a second reads %.2f of the bandwidth, want 0.85", name, v[top "-generate-tok/s"], share))
		gain = v["16-streams-tok/s"] / v[top "-generate-tok/s"]
		verdict(gain >= 5, sprintf("%s: 16 texts at once are %.1f times as fast as one, want 5", name, gain))
		gain = v[top "-prompt-tok/s"] / v["01-prompt-tok/s"]
		verdict(gain >= 0.7 * most, sprintf("%s: a prompt on %d threads is %.1f times as fast, want %.1f", name, most, gain, 0.7 * most))
	}
	END {
		if (texts) verdict(!count, texts " single texts: " count + 0 " times slower with more threads by over 3%, want 0")
		for (i = 1; i <= count; i++) print "        slower with more threads by over 3%: " slower[i]
		print good + 0 " of " all + 0 " met"
		if (texts < 14 || calls < 4 || formats < 3) printf "NOT ALL MEASURED: %d of 14 single texts, %d of 4 calls, %d of 3 formats\n", texts, calls, formats
	}' "$results"
}
results=$(mktemp)
built=
trap 'summary; rm -rf "$results" ${built:+"$built"}' EXIT # also where time ran out
trap 'exit 1' INT TERM
binaries=${BINARIES:-}
if [ -z "$binaries" ]; then
	binaries=$(mktemp -d)
	built=$binaries
	build "$binaries"
fi
if [ -n "${PROFILES:-}" ]; then
	mkdir -p "$PROFILES"
	PROFILES=$(cd "$PROFILES" && pwd)
	export PROFILES
fi
cd "$binaries"
# measure PACKAGE BENCHMARK ROUNDS: runs a benchmark of a package, and appends its lines to the results
measure() {
	"./$1.test" -test.run '^$' -test.bench "$2" -test.benchtime "$((${ROUNDS:-1} * $3))x" -test.cpu "${THREADS:-$(nproc)}" |
		grep --line-buffered -v -e '^goos' -e '^goarch' -e '^pkg' -e '^PASS' | tee -a "$results"
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
