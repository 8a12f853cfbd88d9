package arch

// This file has the tiers of arm64.

// NEON is Advanced SIMD, which every arm64 processor that Go supports has.
var NEON = Tier{
	Name: "NEON", File: "neon", GOARCH: "arm64",
	Width: 4, Masks: NoMasks, ByLane: true,
	General: upTo(27, 16, 17, 18), Vectors: upTo(32),
	Reserved: "R16 and R17 belong to the linker's veneers, R18 to the platform, R27 to the assembler; R28 is g, R29 and R30 are the frame pointer and the link register",
	State:    Always,
	Gemm:     Tile{MR: 6, NR: 16},
	Blocking: Blocking{ValueRows: 2, GemvRows: 4, DotRows: 3, SoftmaxRows: 2, Vectors: 2},
	Integers: Integers{Rows: 6},
}

// These are the features that implementations for arm64 may need.
var (
	DotProd = Feature{Name: "DotProd", Suffix: "DotProd"}
	I8MM    = Feature{Name: "I8MM", Suffix: "I8MM"}
)
