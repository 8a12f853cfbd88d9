package tune

import (
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/order"
)

// Rows of a matrix that share sets of a cache.

// mostSets is the most that a first-level cache of the records has.
const mostSets = 256

// Crowd reports whether some rows ld elements apart crowd each other out of the cache: if more
// share a set than it has ways, for which they have to span more than all ways.
func Crowd(ld, rows int) bool {
	way := Used.Sets * (line / element) // elements
	return rows > Used.Ways && rows*ld > Used.Ways*way && aliases(ld, rows) > Used.Ways
}

// aliases returns how many lines of some rows ld elements apart share a set of the first-level
// cache at the most: one of each if the rows are about as far apart as its sets span.
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

// Sharing returns how many of some rows, which are whole lines apart, share a set of a cache with
// so many sets at the most.
func Sharing(lines, rows, sets int) int {
	apart := max(sets>>bits.TrailingZeros(uint(lines)), 1)
	return (rows + apart - 1) / apart
}

// CrowdsFar reports whether the rows of a B in place push each other out of the second-level cache,
// so that a second tile would find nothing there, nor a panel what was fetched during the one
// before. LinesWays is half of that cache's ways.
func CrowdsFar(k, ldb int) bool {
	size := &Used.Gemm
	return ldb%16 == 0 && Sharing(ldb/16, min(k, order.Stretch), size.LinesSets) > 2*size.LinesWays
}

// HoldsTwo reports whether the first-level cache has room for two pieces of some bytes.
func HoldsTwo(bytes int) bool { return 2*bytes <= Used.Ways*Used.Sets*line }
