#!/bin/bash
# amx.sh: run the tests of code that uses the tiles of AMX, in an emulator that executes their instructions on any amd64 without AMX (scripts/amx). It
# fails if a test fails, or if one of the instructions was never executed. On a processor with AMX no instruction is illegal and the emulator would have
# none to execute, so the same tests run without it.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/amx" ./scripts/amx
export AVOFORMER_REQUIRE_AMX=1
native=
if grep -qE '^flags.* amx_bf16 .*amx_tile amx_int8' /proc/cpuinfo; then native=1; fi
# on INSTRUCTIONS ARGUMENT...: runs go test with the arguments; the emulator fails unless each instruction was executed
on() {
	local emulated=(-exec "$bin/amx -need $1")
	[ -z "$native" ] || emulated=()
	GOARCH=amd64 CGO_ENABLED=0 go test -vet=off -count=1 "${emulated[@]}" "${@:2}"
}

on LDTILECFG,STTILECFG,TILERELEASE,TILEZERO,TILELOADD,TILELOADDT1,TILESTORED,TDPBSSD,TDPBSUD,TDPBUSD,TDPBUUD,TDPBF16PS \
	-run '^TestNative$' ./scripts/amx/tile
on LDTILECFG -run '^TestTiles$' ./internal/checkasm
on LDTILECFG,TILERELEASE,TILEZERO,TILELOADD,TILESTORED,TDPBSUD,TDPBSSD,TDPBF16PS -short -run '^TestCatalog$/^(int8|bfloat16|blocks.*)Tiles$' ./kernels/internal/simd
on TDPBSSD -short -run '^TestBlocksBits$' ./kernels
on TDPBSUD,TDPBF16PS -run '^(TestInt8|FuzzInt8|TestBF16Fast$|TestFeedForward$)' ./kernels

# Where the system refuses tiles, and where they are turned off, products are computed without tiles.
for tiles in permitted refused off; do
	cpu='' flags=''
	case $tiles in
	refused) flags=-refuse ;;
	off) cpu=-amx ;;
	esac
	emulated=(-exec "$bin/amx $flags")
	if [ -n "$native" ]; then
		if [ $tiles = refused ]; then
			echo "tiles that the system refuses: left out, as this processor has AMX"
			continue
		fi
		emulated=()
	fi
	AVOFORMER_CPU=$cpu AVOFORMER_TILES=$tiles go test -vet=off -count=1 "${emulated[@]}" -run '^(TestPermission|TestInt8Bits)$' ./kernels ./kernels/internal/simd
done
