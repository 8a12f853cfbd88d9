#!/bin/bash
# tier-tests.sh [PACKAGE...]: prints the tests of the packages (./...) whose results can depend on the tier. Each line is
# a pattern for go test -run, and packages: all tests of the kernels, and in packages that call kernels the tests that
# compare results on each tier. The other tests check Go code, which is the same on every tier. GOARCH is the processor's.
# PART=kernels or PART=callers prints only that line.
set -euo pipefail
cd "$(dirname "$0")/.."
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}} {{join .Deps " "}} {{join .TestImports " "}} {{join .XTestImports " "}}{{end}}' "${@:-./...}" |
	awk '/\/(kernels|kernels\/internal\/simd|internal\/avx512probe|internal\/checkasm)( |$)/ { print $1, $2 }' | {
	kernels='' callers='' tests=''
	while read -r package dir; do
		case $package in
		*/kernels | */kernels/* | */transformer/internal/* | */avoformer/internal/*)
			kernels+=" $package" ;;
		*)
			names=$(awk '/^func / { name = $2; sub(/\(.*/, "", name) }
				name ~ /^(Test|Fuzz|Example)/ && /([eE]achTier|eachISA)\(/ && !seen[name]++ { printf "|%s", name }' "$dir"/*_test.go)
			[ -z "$names" ] || callers+=" $package" tests+=$names ;;
		esac
	done
	[ -z "$kernels" ] || [ "${PART:-kernels}" != kernels ] || echo ".$kernels"
	[ -z "$callers" ] || [ "${PART:-callers}" != callers ] || echo "^(TestForcedTier$tests)\$$callers"
}
