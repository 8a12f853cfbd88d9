#!/bin/bash
# emulated.sh WHAT: runs the tests of a tier that this machine may lack, in an emulator.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
case $1 in
arm64 | arm64-callers | arm64-go | avx512 | avx512-callers | amx) scripts/install.sh "${1%%-*}" ;;
*)
	echo "emulated.sh: $1, want arm64, arm64-callers, arm64-go, avx512, avx512-callers or amx" >&2
	exit 2
	;;
esac

case $1 in
arm64) # the kernels of the NEON tier, under qemu
	AVOFORMER_REQUIRE_AS=1 $go test -C asm ./arm64
	PART=kernels scripts/arm64.sh
	;;
arm64-callers) # models, generation and search on the NEON tier, under qemu
	PART=callers scripts/arm64.sh
	;;
arm64-go) # the short tests that gain by a tier, without assembly, under qemu
	scripts/arm64.sh purego
	;;
avx512) # the kernels of the AVX-512 tier, in Bochs
	AVOFORMER_REQUIRE_AS=1 $go test -C asm ./vec
	PART=kernels scripts/avx512/test.sh
	;;
avx512-callers) # models, generation and search on the AVX-512 tier, in Bochs; on a processor with AVX-512 make test-native runs them
	PART=callers scripts/avx512/test.sh
	;;
amx) # the tiles of AMX, on any amd64 with Linux; natively where the processor has them
	AVOFORMER_REQUIRE_AS=1 $go test ./scripts/amx/...
	scripts/amx.sh
	;;
esac
