package tune

import (
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// In what order the products of an element of C are summed up. Nothing here is a matter of
// tuning: it would change results.

// Order bounds the steps of k that one call sums up: kc of the micro-kernel, long
// of dot products and products of one row. It decides, with DotColumns, in
// what order the products of an element of C are summed up: so all of them are the same
// for any number of threads and on every machine, and none is a matter of tuning.
var Order = Orders{
	KC: 1024, Long: 1 << 16, DotRowsMin: 12, DotRowsMax: 64, DotElements: 1 << 16,
	DotSum: 3, DotGather: 3, DotGatherCall: 512, HalfRows: 64,
}

// Orders are the figures of Order, with tags as those of a Record.
type Orders struct {
	// A long kc writes C seldom: each pass over it costs as much as 2 to 4% of a large
	// product. A tile's rows of A over kc (56 KiB) then come from the second-level cache as
	// a few streams.
	KC   int `unit:"steps of k" at:"products: A long kc writes C seldom" on:"zen4"`
	Long int `unit:"steps of k" at:"products: up to 2^16 steps of k in one call" on:"zen4"`
	// A product with B^T in place is dot products up to DotRowsMin rows of A, and up to DotRowsMax where k
	// is long and A of at most DotElements.
	DotRowsMin  int `unit:"rows of A" at:"products: No packing, no transposing, up to k/8 rows (12 to 64)" on:"zen4"`
	DotRowsMax  int `unit:"rows of A" at:"products: panels instead of dot products for 24 to 64 rows, nt" on:"zen4"`
	DotElements int `unit:"elements of A" at:"products: while A has at most 2^16 elements" on:"zen4"`
	// DotSum is what adding up a dot product's lanes costs, DotGather what an element of B costs that is brought into
	// place for one, and DotGatherCall what doing so costs whatever their number.
	DotSum        int `unit:"steps of a vector" at:"products: columns that fill no vector as dot products" on:"zen4"`
	DotGather     int `unit:"steps" at:"products: gathered columns count 512 steps a call and three an element" on:"zen4"`
	DotGatherCall int `unit:"steps" at:"products: gathered columns count 512 steps a call and three an element" on:"zen4"`
	// Up to HalfRows rows of A, up to half a vector of columns is taken to cost half a tile, as it does in
	// gemmNear, which multiplies few rows.
	HalfRows int `unit:"rows of A" at:"products: up to half a vector counts as half a tile, for any number of rows" on:"zen4"`
}

// DotColumns is how many of the last columns of a product are dot products. A
// tile takes as long for a few columns as for a strip of them, but in gemmNear on AVX-512
// (strips of 16) half as long for up to half of one. Where the columns of B must be
// gathered, that has to pay for gather rows of A; if it is 0 they need not be.
func DotColumns(isa simd.ISA, n, k, gather int) int {
	strip := simd.KernelGemmPanel.On(isa).Strip
	dots, tile := n&(strip-1), k // strips are powers of two, and divisions slow
	if dots == 0 {
		return 0
	}
	if 0 < gather && gather <= Order.HalfRows && wideStrips(strip) && dots <= strip/2 {
		tile = k / 2
	}
	gain := tile - dots*(k>>bits.TrailingZeros(uint(strip))+Order.DotSum)
	if gain <= 0 || gather > 0 && gather*gain <= dots*k*Order.DotGather+Order.DotGatherCall {
		return 0
	}
	return dots
}

// Evenly is a block size of at most limit that cuts n into blocks of about the
// same size, a multiple of unit where there are several.
func Evenly(n, limit, unit int) int {
	if n <= limit {
		return max(n, 1)
	}
	units, most := (n+unit-1)/unit, max(limit/unit, 1)
	blocks := (units + most - 1) / most
	return (units + blocks - 1) / blocks * unit
}

// wideStrips reports whether the narrowest tile has 16 columns: then gemmNear takes half of it for half the time.
func wideStrips(strip int) bool { return strip >= 16 }
