#!/bin/bash
# bench_amx.sh [ROUNDS]: what the tiles of AMX do on this processor, which must have them. First the tests run natively: the emulator beside
# silicon, the kernels between guard pages, the bits, and a million calls of 16 goroutines. Then products of int8 and bf16_fast, and attention in int8, take turns with
# and without tiles for ROUNDS (10), and medians are printed; then the tiles alone, and other libraries if `make peers` installed them.
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
./avoformer version | grep -qw amx || { echo "bench_amx.sh: no AMX here, or the system refuses it" >&2; exit 1; }

export AVOFORMER_REQUIRE_AMX=1 AVOFORMER_TILES=permitted
(cd tile && ./test -test.run '^TestNative$')
./simd.test -test.run '^(TestPermission|TestCatalog)$/^(int8|word|bfloat16)Tiles$'
(cd kernels && ./test -test.run '^(TestInt8|FuzzInt8|TestBF16Fast$|TestFeedForward$|TestAttentionInt8Tiles$)' && AVOFORMER_LONG=1 ./test -test.run '^TestInt8Concurrent$' -test.timeout 30m)

results=$(mktemp)
trap 'rm -f "$results"' EXIT
for ((round = 0; round < rounds; round++)); do
	for off in '' -amx; do
		for cases in 'GemmInt8/format=(int8|bf16_fast)' '^BenchmarkAttentionInt8$/./int8=true'; do
			(cd kernels && AVOFORMER_CPU=$off ./test -test.run '^$' -test.bench "$cases" -test.benchtime 50ms) |
				awk -v how="${off:-tiles}" '/^Benchmark/ { print how, $1, $3 }' >>"$results"
		done
	done
done
echo "medians of $rounds rounds in turn, conversion of A included in products; without tiles bf16_fast is bf16"
sort -k1,2 -k3,3n "$results" | awk '
	{ key = $1 " " $2; n[key]++; at[key, n[key]] = $3; if ($1 == "tiles") cases[$2] }
	function median(key) { return (at[key, int((n[key] + 1) / 2)] + at[key, int(n[key] / 2) + 1]) / 2 }
	END { for (c in cases) printf "%-60s %10.1f us with tiles, %10.1f without: %.2f\n", c, median("tiles " c) / 1e3, median("-amx " c) / 1e3, median("-amx " c) / median("tiles " c) }' | sort
echo "tiles alone, from integers to float32; /near does not wait for memory"
./simd.test -test.run '^$' -test.bench '^BenchmarkInt8Tiles$'
if [ -d "$here/../bench/.peers" ]; then
	cd "$here/.."
	for threads in 1 2; do go run -C bench ./cmd/compare -cases gemm_packed_int8 -rounds "$rounds" -threads "$threads" -v; done
fi
