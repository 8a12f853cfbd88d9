#!/bin/bash
# bench_amx.sh [ROUNDS]: tests and measures the tiles of AMX on this processor, which must have them. First the tests run natively: the emulator is compared with
# the processor, kernels run between guard pages, their bits are compared, and 16 goroutines make a million calls. Then products of int8 and bf16_fast are
# measured alternately with and without tiles for ROUNDS (10): bf16_fast by tiles, by VDPBF16PS, and as plain bf16, and float32 for comparison. It prints
# the medians, and each target with "met" or "MISSED"; then it measures the tiles by themselves, and other libraries if `make peers` installed them.
#
# With TURNS=only it leaves out the tests, and runs without AMX too, to try this script: columns "with tiles" are then measured without, and no target is met or missed.
#
# With BIN=DIR it only writes the binaries, which are static, and a copy of itself to DIR; there it runs without Go.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-$here}
if [ -f "$here/../go.mod" ]; then
	cd "$here/.."
	bin=$(realpath -m "${BIN:-bench/.amx}")
	mkdir -p "$bin/tile/testdata" "$bin/kernels/testdata"
	export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
	go test -c -o "$bin/tile/test" ./scripts/amx/tile
	go test -c -o "$bin/simd.test" ./kernels/internal/simd
	go test -c -o "$bin/kernels/test" ./kernels
	go build -C cmd/avoformer -o "$bin/avoformer" .
	cp scripts/amx/tile/testdata/forms.txt "$bin/tile/testdata/"
	cp kernels/testdata/int8_bits.txt "$bin/kernels/testdata/"
	cp "$0" "$bin/"
	[ -z "${BIN:-}" ] || { echo "copy $bin, and run $bin/$(basename "$0") there"; exit 0; }
fi
rounds=${1:-10}
cd "$bin"
grep -m1 'model name' /proc/cpuinfo || :
./avoformer version
# tiles succeeds if the processor has tiles and the system permits them.
tiles() { ./avoformer version | sed 's/(the system refuses.*//' | grep -qw amx; }
if [ "${TURNS:-}" != only ]; then
	tiles || { echo "bench_amx.sh: no AMX here, or the system refuses it" >&2; exit 1; }

	export AVOFORMER_REQUIRE_AMX=1 AVOFORMER_TILES=permitted
	(cd tile && ./test -test.run '^TestNative$')
	./simd.test -test.run '^(TestPermission|TestCatalog)$/^(int8|bfloat16|blocks.*)Tiles$'
	(cd kernels && ./test -test.run '^(TestInt8|FuzzInt8|TestBF16Fast$|TestFeedForward$|TestBlocksBits$)' && AVOFORMER_LONG=1 ./test -test.run '^TestInt8Concurrent$' -test.timeout 30m)
fi

results=$(mktemp)
trap 'rm -f "$results"' EXIT
# turn NAME FEATURES CASES: measures the cases with AVOFORMER_CPU=FEATURES, which turns features off, and records them under NAME
turn() {
	(cd kernels && AVOFORMER_CPU=$2 ./test -test.run '^$' -test.bench "$3" -test.benchtime "${TIME:-50ms}") |
		awk -v how="$1" '/^Benchmark/ { print how, substr($1, 10), $3 }' >>"$results"
}
for ((round = 0; round < rounds; round++)); do
	turn tiles '' 'GemmInt8/format=(f32|int8|bf16_fast)$'
	turn pairs -amx 'GemmInt8/format=(int8|bf16_fast)$'
	turn plain -amx,-avx512bf16 'GemmInt8/format=bf16_fast$'
done
echo "medians of $rounds rounds in turn in us, conversion of A included in products; bf16_fast is VDPBF16PS without tiles where the CPU has it"
trial=
tiles || { trial="no AMX"; echo "no AMX here, or the system refuses it: the columns \"with tiles\" have none"; }
sort -k1,2 -k3,3n "$results" | awk -v trial="$trial" '
	{ key = $1 " " $2; n[key]++; at[key, n[key]] = $3 }
	$1 == "tiles" && n[key] == 1 && !/format=f32/ { cases[++all] = $2 }
	function median(key) { return (at[key, int((n[key] + 1) / 2)] + at[key, int(n[key] / 2) + 1]) / 2e3 }
	function verdict(met, text) { print (trial ? trial "  " : met ? "met     " : "MISSED  ") text }
	END {
		for (i = 1; i <= all; i++) {
			c = cases[i]; kind = c ~ /bf16_fast/ ? "bf16_fast" : "int8"
			tiles = median("tiles " c); without = median("pairs " c); sum[kind]++
			line = sprintf("%-60s %10.1f with tiles, %10.1f without: %.2f", c, tiles, without, without / tiles)
			if (kind == "bf16_fast") {
				plain = median("plain " c); f = c; sub(/bf16_fast/, "f32", f)
				line = line sprintf("; %10.1f plain: %.2f; %10.1f float32", plain, plain / tiles, median("tiles " f))
				if (tiles > 1.03 * plain) slower["plain"]++
				pairs += without < plain
				if (c ~ /threads=1\/512x2048x512/) parts = median("tiles " f) / (3.5 * tiles)
			}
			print line
			if (tiles > 1.03 * without) { slower[kind]++; list = list "        " c "\n" }
		}
		verdict(!slower["int8"], sprintf("products of int8: %d of %d slower with tiles by over 3%%, want 0", slower["int8"], sum["int8"]))
		verdict(!slower["bf16_fast"] && !slower["plain"], sprintf("bf16_fast: %d of %d slower with tiles than without by over 3%%, %d than plain, want 0", slower["bf16_fast"], sum["bf16_fast"], slower["plain"]))
		printf "%s", list
		verdict(pairs == sum["bf16_fast"], sprintf("bf16_fast: VDPBF16PS is faster than plain in %d of %d, want all", pairs, sum["bf16_fast"]))
		verdict(parts >= 1.4, sprintf("float32 by three parts of bfloat16 would be %.2f times as fast (512x2048x512, one thread), 1.4 would pay", parts))
	}'
[ "${TURNS:-}" != only ] || exit 0
echo "tiles alone, from integers to float32; /near does not wait for memory"
./simd.test -test.run '^$' -test.bench '^Benchmark(Int8|Block)Tiles$'
if [ -d "$here/../bench/.peers" ]; then
	cd "$here/.."
	for threads in 1 2; do go run -C bench ./cmd/compare -cases gemm_packed_int8 -rounds "$rounds" -threads "$threads" -v; done
fi
