#!/bin/bash
# test.sh: run the tests on the AVX-512 tier, in an emulator (boot.sh).
#
# An instruction takes some hundred times as long there, so only tests run whose
# results can depend on the tier (tier-tests.sh).
#
# It fails if a test fails, if the tier did not run, if one of its kernels was
# never called, if VDPBF16PS was never executed, or if a kernel that is wrong on
# purpose goes unnoticed.
# Arguments are passed to the test binaries, for example -test.run=Softmax; the
# check that every kernel was called is then left out, as it is with PART=callers.
# PACKAGES names the packages (./...).
set -euo pipefail
cd "$(dirname "$0")/../.."
# Tests of packages that call kernels run natively in test-native where the processor has all features of the guest.
if [ "${PART:-}" = callers ] && grep -qE '^flags.* avx512f .*avx512dq .*avx512bw .*avx512vl .*avx512_vnni .*avx512_vpopcntdq' /proc/cpuinfo; then
	echo "packages that call kernels: left out in the emulator, as this processor has AVX-512"
	exit
fi
# With the usual GOGC, collecting garbage costs a fifth of the instructions.
environment="AVOFORMER_REQUIRE=avx512 AVOFORMER_ISA=avx512 AVOFORMER_EMULATED=1 GOGC=400"

scripts/install.sh avx512

# Packages that call no kernel are left out: they need a network and the rest of the tree, which the guest lacks.
# Two guests of about equal length, one for each processor: the kernels, which take half of the time, and the rest.
trees=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || :; rm -rf "$trees"' EXIT
# shellcheck disable=SC2086 # several
lines=$(GOOS=linux GOARCH=amd64 scripts/tier-tests.sh ${PACKAGES:-./...})
while read -r tests packages; do
	for package in $packages; do
		package=${package#"$(go list .)"/}
		case $package in
		kernels) tree=$trees/kernels ;;
		*) tree=$trees/others ;;
		esac
		dir=$tree/src/$package
		mkdir -p "$dir"
		GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go test -c -cover -coverpkg=./kernels/internal/simd -ldflags='-s -w' \
			-o "$dir/test" "./$package" </dev/null 2> >(grep -v 'warning: no packages being tested depend on' >&2)
		# Tests read their data, and the sources that they parse.
		find "$package" -name testdata -prune -exec cp -r --parents -t "$tree/src" {} +
		cp --parents -t "$tree/src" "$package"/*.go
		[ "$package" != internal/avx512probe ] ||
			echo "! /src/$package $environment AVOFORMER_CANARY=1 ./test -test.run=TestCanary" >>"$tree/commands"
		echo "/src/$package $environment ./test -test.short -test.run=$tests -test.coverprofile=/out/${package//\//-}.cover $*" >>"$tree/commands"
		# The emulated CPU lacks AVX512_BF16, whose instruction another emulator executes.
		case $package in
		kernels) pairs='^TestBF16Fast$' ;;
		kernels/internal/simd) pairs='^TestCatalog$/^bfloat16Pairs$' ;;
		*) continue ;;
		esac
		[ $# = 0 ] || continue
		GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go build -o "$tree/amx" ./scripts/amx
		echo "/src/$package $environment /amx -bf16 -need VDPBF16PS ./test -test.short -test.run=$pairs" >>"$tree/commands"
	done
done <<<"$lines"

declare -A guests
for tree in "$trees"/*; do
	scripts/avx512/boot.sh "$tree" >"$tree.log" 2>&1 &
	guests[$tree]=$!
done
status=0
for tree in "${!guests[@]}"; do
	wait "${guests[$tree]}" || status=$?
	cat "$tree.log"
done
[ "$status" = 0 ] || exit "$status"
[ $# -gt 0 ] || [ "${PART:-}" = callers ] || go run ./scripts/tierran AVX512 "$trees"/*/out/*.cover
