package tune

import (
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/order"
)

// This file has rows of a matrix that share sets of a cache.

// mostSets is the largest number of sets of a first-level cache in the records.
const mostSets = 256

// Crowd reports whether rows ld elements apart evict each other from the cache. They do if more
// rows share a set than the set has ways; for that they must span more than all ways.
func Crowd(ld, rows int) bool {
	way := Used.Sets * (line / element) // elements
	return rows > Used.Ways && rows*ld > Used.Ways*way && aliases(ld, rows) > Used.Ways
}

// aliases returns the largest number of lines of rows ld elements apart that share a set of the
// first-level cache. It counts one line of each row if the distance of the rows is near the span of
// the sets.
func aliases(ld, rows int) int {
	if ld > 0 && ld%16 == 0 {
		return Sharing(ld/16, rows, Used.Sets)
	}
	var sets [mostSets]uint8
	most, last := uint8(0), -1
	for i := range rows {
		at := i * ld / 16
		if at == last {
			continue
		}
		last = at
		set := &sets[at%Used.Sets%mostSets]
		*set++
		most = max(most, *set)
	}
	return int(most)
}

// Sharing returns the largest number of rows that share a set of a cache with the given number of
// sets. Rows are whole lines apart.
func Sharing(lines, rows, sets int) int {
	apart := max(sets>>bits.TrailingZeros(uint(lines)), 1)
	return (rows + apart - 1) / apart
}

// CrowdsFar reports whether the rows of a B in place evict each other from the second-level cache.
// A second tile would then not find them there, and a panel would not find the memory that was
// fetched during the previous one. LinesWays is half of that cache's ways.
func CrowdsFar(k, ldb int) bool {
	size := &Used.Gemm
	return ldb%16 == 0 && Sharing(ldb/16, min(k, order.Stretch), size.LinesSets) > 2*size.LinesWays
}

// HoldsTwo reports whether two pieces of the given bytes fit in the first-level cache.
func HoldsTwo(bytes int) bool { return 2*bytes <= Used.Ways*Used.Sets*line }
