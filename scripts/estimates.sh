#!/bin/bash
# estimates.sh: prints llvm-mca's predictions for the inner loops on processors that are not at hand.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
$go run ./scripts/estimate -min 95 amd64 gemmPanelAVX512 skylake-avx512
$go run ./scripts/estimate amd64 gemmPanelAVX512 znver4
$go run ./scripts/estimate -min 95 arm64 gemmPanelNEON neoverse-n1 neoverse-v1 apple-m1
$go run ./scripts/estimate arm64 int8OctetsNEONI8MM neoverse-v1 neoverse-v2
$go run ./scripts/estimate -min 95 arm64 int8DotsNEONDotProd neoverse-n1 neoverse-v1 neoverse-v2
for kernel in int8OctetsNEONI8MM int8DotsNEONDotProd; do
	$go run ./scripts/estimate -around 8 arm64 "$kernel" neoverse-v1 neoverse-v2
done
$go run ./scripts/estimate -elements 8 arm64 expVecNEON neoverse-n1 neoverse-v1 apple-m1
$go run ./scripts/estimate -elements 16 amd64 expVecAVX2 skylake znver3
for kernel in geluVec softmaxRows layerNormRows; do
	$go run ./scripts/estimate -elements 8 arm64 "${kernel}NEON" neoverse-n1
	$go run ./scripts/estimate -elements 16 amd64 "${kernel}AVX2" skylake znver3
	$go run ./scripts/estimate -elements 32 amd64 "${kernel}AVX512" skylake-avx512
done
$go run ./scripts/estimate -elements 32 amd64 expVecAVX512 skylake-avx512
$go run ./scripts/estimate -elements 48 amd64 int8PairsAVX2 skylake alderlake haswell znver2 # of 16 multiply-adds
$go run ./scripts/estimate -elements 128 amd64 int8WinogradAVX2 skylake alderlake haswell znver2
$go run ./scripts/fmlashare
