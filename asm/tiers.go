package asm

import "github.com/avoformer/avoformer/asm/kernel"

// Tier is an instruction set that kernels are generated for.
type Tier struct {
	Name     string // suffix of the symbols, and the name of the simd.ISA constant
	File     string // part of the file name
	Arch     string // GOARCH
	Width    int    // float32 lanes of a vector
	Strip    int    // columns of the narrowest tile of gemmPanel
	Features []string
	Gemm     kernel.GemmTile
}

// Tiers is ordered best first within an architecture.
var Tiers = []Tier{
	{Name: "AVX512", File: "avx512", Arch: "amd64", Width: 16, Strip: 16,
		Features: []string{"AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX2", "AVX", "FMA3", "BMI2"},
		Gemm:     kernel.GemmTile{MR: 14, NR: 32}},
	{Name: "AVX2", File: "avx2", Arch: "amd64", Width: 8, Strip: 8,
		Features: []string{"AVX2", "AVX", "FMA3"},
		Gemm:     kernel.GemmTile{MR: 6, NR: 16}},
	{Name: "NEON", File: "neon", Arch: "arm64", Width: 4, Strip: 1,
		Gemm: kernel.GemmTile{MR: 6, NR: 16}},
}

// genericTile is the register tile of the pure-Go path.
var genericTile = kernel.GemmTile{MR: 4, NR: 8}

// Feature is an extension that a processor of a tier may or may not have.
type Feature struct {
	Name   string // the constant of package simd
	Suffix string // of the names of implementations that need it
	Avo    string // avo's name, on amd64
}

// The features that implementations may need.
var (
	AVX512VNNI = Feature{"AVX512VNNI", "VNNI", "AVX512VNNI"}
	AVX512BF16 = Feature{"AVX512BF16", "BF16", "AVX512BF16"}
	AVXVNNI    = Feature{"AVXVNNI", "VNNI", "AVXVNNI"}
	F16C       = Feature{"F16C", "F16C", "F16C"}
	DotProd    = Feature{"DotProd", "DotProd", ""}
	I8MM       = Feature{"I8MM", "I8MM", ""}
	FP16       = Feature{"FP16", "FP16", ""}
)
