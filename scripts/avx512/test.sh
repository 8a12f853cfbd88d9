#!/bin/bash
# test.sh: run the tests on the AVX-512 tier, in an emulator (boot.sh).
#
# It fails if a test fails, if the tier did not run, if one of its kernels was
# never called, or if a kernel that is wrong on purpose goes unnoticed.
# Arguments are passed to the test binaries, for example -test.run=Softmax; the
# check that every kernel was called is left out then.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment="AVOFORMER_REQUIRE=avx512 AVOFORMER_ISA=avx512 AVOFORMER_EMULATED=1"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
commands() { printf '%s\n' "$*" >>"$tree/commands"; }
packages=$(GOOS=linux GOARCH=amd64 go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
for package in $packages; do
	package=${package#"$(go list -m)"/}
	dir=$tree/src/$package
	mkdir -p "$dir"
	GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go test -c -cover -coverpkg=./kernels -ldflags='-s -w' \
		-o "$dir/test" "./$package" 2> >(grep -v 'warning: no packages being tested depend on' >&2)
	find "$package" -name testdata -prune -exec cp -r --parents -t "$tree/src" {} +
	[ "$package" != internal/avx512probe ] ||
		commands "! /src/$package $environment AVOFORMER_CANARY=1 ./test -test.run=TestCanary"
	commands "/src/$package $environment ./test -test.short -test.coverprofile=/out/${package//\//-}.cover $*"
done

scripts/avx512/boot.sh "$tree"
[ $# -gt 0 ] || go run ./scripts/tierran AVX512 "$tree"/out/*.cover
