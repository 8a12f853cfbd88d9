package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// How rows are dealt to the tiles of products.

// ladders are the parts of the tiles of some columns. Parts of a row are emitted once, and those of
// all rows one after the other: a tile begins with row 0 and leaves after its last row.
type ladders struct {
	// begin prepares for a tile of h rows, and beginRow for each of its rows.
	begin    func(h vec.Int)
	beginRow func(i int)
	// sum emits what exists for every height. It makes its own labels with label.
	sum func(h int, label func(what string) string)
	// endRows ends all rows, in one sequence or several; it calls last after each row.
	endRows func(last func(i int))
	// next moves on by the tile's rows; it may overwrite h.
	next func(h vec.Int)
}

// deal emits the loop over tiles of rows, of each height up to mr. Tiles have nearly equal height:
// 8 rows at mr = 6 are 4 + 4, not 6 + 2. left returns the number of rows left in a fresh register.
// All labels end with suffix.
func deal(m vec.Jumper, mr int, suffix string, left func() vec.Int, l ladders) {
	again, begin, end, next, done := "tiles"+suffix, "begin"+suffix, "end"+suffix, "next"+suffix, "done"+suffix
	of := func(h int) func(string) string {
		return func(what string) string { return fmt.Sprintf("%s%d%s", what, h, suffix) }
	}
	m.Label(again)
	h := left()
	m.Compare(h, 1)
	m.BranchIf(vec.LT, done)
	m.Compare(h, mr)
	m.BranchIf(vec.LE, begin)
	m.IfLE(h, 2*mr-1, func() {
		m.Comment("between one tile and two: halve, rounding up")
		m.Raise(h, 1)
		m.Halve(h, 1)
	}, func() {
		m.SubtractInt(h, h)
		m.Raise(h, mr)
	})
	m.Label(begin)
	l.begin(h)
	for i := range mr {
		l.beginRow(i)
		if i+1 < mr {
			m.Compare(h, i+1)
			m.BranchIf(vec.EQ, of(i+1)("tile"))
		}
	}
	for i := mr; i >= 1; i-- {
		m.Label(of(i)("tile"))
		l.sum(i, of(i))
		m.Jump(end)
	}
	m.Label(end)
	l.endRows(func(i int) {
		if i+1 == mr {
			m.Jump(next)
			return
		}
		m.Compare(h, i+1)
		m.BranchIf(vec.EQ, next)
	})
	m.Label(next)
	l.next(h)
	m.Jump(again)
	m.Label(done)
}

// dealWhole is deal for tiles that are emitted as a whole for each height. tile subtracts h from
// the rows left.
func dealWhole(m vec.Jumper, mr int, suffix string, left func() vec.Int, tile func(h int, label func(what string) string)) {
	again, pick, done := "tiles"+suffix, "pick"+suffix, "done"+suffix
	of := func(h int) func(string) string {
		return func(what string) string { return fmt.Sprintf("%s%d%s", what, h, suffix) }
	}
	m.Label(again)
	n := left()
	m.Compare(n, 2*mr)
	m.BranchIf(vec.GE, of(mr)("tile"))
	m.Compare(n, mr)
	m.BranchIf(vec.LE, pick)
	m.Comment("between one tile and two: halve, rounding up")
	m.Raise(n, 1)
	m.Halve(n, 1)
	m.Label(pick)
	m.Compare(n, 1)
	m.BranchIf(vec.LT, done)
	for h := 1; h < mr; h++ {
		if h > 1 {
			m.Compare(n, h)
		}
		m.BranchIf(vec.EQ, of(h)("tile"))
	}
	for h := mr; h >= 1; h-- {
		m.Label(of(h)("tile"))
		tile(h, of(h))
		m.Jump(again)
	}
	m.Label(done)
}
