#!/bin/bash
# arm64.sh: run the short tests whose results can depend on the tier (tier-tests.sh) on the NEON tier, under qemu.
#
# It fails if a test fails, if the tier did not run, or if one of its kernels was
# never called. The modelled CPU is a Neoverse N1, where an instruction that does
# not belong on the first 64-bit servers is illegal. Products of int8, and
# the kernels that need more, then run on a CPU with all features of arm64, and the
# products on one with none. Arguments are passed to go test, for example
# -run=Softmax; the other CPUs and the check that every kernel was called are left
# out then, and with PART=callers. PACKAGES names the packages (./...).
# `arm64.sh purego` runs them without assembly instead.
set -euo pipefail
cd "$(dirname "$0")/.."
read -ra packages <<<"${PACKAGES:-./...}"
covers=$(mktemp -d)
trap 'rm -rf "$covers"' EXIT

# on CPU ARGUMENT...: runs go test with the arguments on the CPU
on() {
	local qemu="env GOGC=400 qemu-aarch64-static -cpu $1" # collecting garbage takes some of the time
	shift
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go test -vet=off -short -timeout 30m -exec "$qemu" "$@" </dev/null
}
lines=$(GOOS=linux GOARCH=arm64 scripts/tier-tests.sh "${packages[@]}")
if [ "${1:-}" = purego ]; then
	# shellcheck disable=SC2086 # several
	while read -r tests reach; do
		AVOFORMER_EMULATED=1 on neoverse-n1 -tags purego -run "$tests" $reach
	done <<<"$lines"
	exit
fi

# neon CPU ARGUMENT...: runs go test on the tier, and writes its coverage to a file whose name begins with the CPU's
neon() {
	AVOFORMER_SLOW=1 AVOFORMER_REQUIRE=neon AVOFORMER_ISA=neon on "$1" \
		-coverpkg=./kernels/internal/simd -coverprofile="$(mktemp -p "$covers" "$1.XXXX")" "${@:2}"
}

# shellcheck disable=SC2086 # several
while read -r tests reach; do
	neon neoverse-n1 -run "$tests" "$@" $reach
done <<<"$lines"
[ $# = 0 ] && [ "${PART:-}" != callers ] || exit 0
neon max -run '^(TestInt8Bits|TestCatalog)$//i8mm$' ./kernels ./kernels/internal/simd
neon cortex-a72 -run '^TestInt8Bits$' ./kernels
go run ./scripts/tierran NEON "$covers"/neoverse-n1.*
go run ./scripts/tierran NEONDotProd "$covers"/neoverse-n1.*
go run ./scripts/tierran NEONI8MM "$covers"/max.*
