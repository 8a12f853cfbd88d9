#!/bin/bash
# kernel-packages.sh [PACKAGE...]: of the packages, ./... without any, those whose tests reach a kernel. The others gain
# nothing by a tier. GOARCH tells for which processor.
set -euo pipefail
cd "$(dirname "$0")/.."
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .Deps " "}} {{join .TestImports " "}} {{join .XTestImports " "}}{{end}}' "${@:-./...}" |
	awk '/\/(kernels|kernels\/internal\/simd|internal\/avx512probe|internal\/checkasm)( |$)/ { print $1 }'
