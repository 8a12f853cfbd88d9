#!/bin/bash
# arm64.sh: run the short tests on the NEON tier, and without assembly, under
# qemu.
#
# It fails if a test fails, if the tier did not run, or if one of its kernels was
# never called. The CPU modelled is a Neoverse N1: what has no place on the
# first 64-bit servers stops there as an illegal instruction. Arguments are
# passed to go test, for example -run=Softmax; the check that every kernel was
# called is left out then. PACKAGES names other packages than ./... .
set -euo pipefail
cd "$(dirname "$0")/.."
read -ra packages <<<"${PACKAGES:-./...}"
cover=$(mktemp)
trap 'rm -f "$cover"' EXIT

qemu="qemu-aarch64-static -cpu neoverse-n1"
export GOOS=linux GOARCH=arm64 CGO_ENABLED=0
AVOFORMER_REQUIRE=neon AVOFORMER_ISA=neon go test -short -timeout 30m -exec "$qemu" \
	-coverpkg=./kernels/internal/simd -coverprofile="$cover" "$@" "${packages[@]}"
AVOFORMER_EMULATED=1 go test -short -timeout 30m -tags purego -exec "$qemu" "$@" "${packages[@]}"
unset GOOS GOARCH CGO_ENABLED
[ $# -gt 0 ] || go run ./scripts/tierran NEON "$cover"
