package arch

// This file has the tiers of amd64.

const sp = 4 // the number of the stack pointer

const amd64Reserved = "SP is the stack pointer; BP is the frame pointer, which avo saves where it is used"

var amd64General = upTo(16, sp)

// bochs has the instructions that Bochs 2.7, which runs the tests of AVX-512, computes wrongly.
var bochs = []string{
	"VGF2P8AFFINEQB", "VGF2P8AFFINEINVQB", // complemented
	"VRSQRT14PS", "VRSQRT14PD", "VRSQRT14SS", "VRSQRT14SD", // wrong for odd powers of two
}

// EveryAMD64 has the features that need no tier; "MMX+" is avo's name for the prefetch instructions
// of SSE.
var EveryAMD64 = []string{"CMOV", "MMX+"}

// AVX512 is the bundle of its foundation, BW, DQ and VL, with vectors of 512 bits.
var AVX512 = Tier{
	Name: "AVX512", File: "avx512", GOARCH: "amd64",
	Width: 16, Masks: Opmasks, Embedded: true, Prefetches: true,
	General: amd64General, Vectors: upTo(32), Reserved: amd64Reserved,
	Leave: []string{"VZEROUPPER"}, State: XCR0EVX,
	Features:   []string{"AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX2", "AVX", "FMA3", "BMI2"},
	Distrusted: bochs,
	Gemm:       Tile{MR: 14, NR: 32},
	Blocking:   Blocking{ValueRows: 4, GemvRows: 8, DotRows: 6, SoftmaxRows: 4, Vectors: 4},
	Integers:   Integers{Rows: 12, FetchC: true, FetchAhead: true},
}

// AVX2 is the bundle of AVX2 and FMA, with vectors of 256 bits.
var AVX2 = Tier{
	Name: "AVX2", File: "avx2", GOARCH: "amd64",
	Width: 8, Masks: VectorMasks, Prefetches: true,
	General: amd64General, Vectors: upTo(16), Reserved: amd64Reserved,
	Leave: []string{"VZEROUPPER"}, State: XCR0AVX,
	Features:   []string{"AVX2", "AVX", "FMA3"},
	Distrusted: bochs,
	Gemm:       Tile{MR: 6, NR: 16},
	Blocking:   Blocking{ValueRows: 2, GemvRows: 4, DotRows: 3, SoftmaxRows: 2, Vectors: 2},
	Integers:   Integers{Rows: 6, FetchNext: true},
}

// These are the features that implementations for amd64 may need.
var (
	AVX512VNNI = Feature{Name: "AVX512VNNI", Suffix: "VNNI", Avo: []string{"AVX512VNNI"}}
	// AVX512VPOPCNTDQ counts the set bits of lanes.
	AVX512VPOPCNTDQ = Feature{Name: "AVX512VPOPCNTDQ", Suffix: "VPOPCNTDQ", Avo: []string{"AVX512VPOPCNTDQ"}}
	// AVX512BF16 adds products of pairs of bfloat16 to float32.
	AVX512BF16 = Feature{Name: "AVX512BF16", Suffix: "BF16", Avo: []string{"AVX512BF16"}}
	AVXVNNI    = Feature{Name: "AVXVNNI", Suffix: "VNNI", Avo: []string{"AVXVNNI"}}
	// AMX has tiles, and products of bytes and of bfloat16 in them: processors with tiles also have
	// these products. A kernel configures the tiles itself, because the configuration contains
	// their height.
	AMX = Feature{
		Name: "AMX", Suffix: "AMX", Avo: []string{"AMXTILE", "AMXINT8", "AMXBF16"},
		State: XCR0Tiles, Enter: "LDTILECFG", Leave: []string{"TILERELEASE"},
	}
	F16C = Feature{Name: "F16C", Suffix: "F16C", Avo: []string{"F16C"}}
)
