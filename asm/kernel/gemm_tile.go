package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// Functions that the micro-kernels of products share: how rows are dealt to tiles, and
// how a tile ends.

// deal emits the loop over tiles of rows, and the tiles: one for each height up to mr. Tiles
// have nearly equal height: 8 rows at mr = 6 are 4 + 4, not 6 + 2. left returns the number of
// rows left in a fresh register, from which tile subtracts h. All labels end with suffix; tile
// makes its own labels with label.
func deal(m vec.Jumper, mr int, suffix string, left func() vec.Int, tile func(h int, label func(what string) string)) {
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

// tileEnd describes how a tile of sums becomes a tile of C.
type tileEnd struct {
	acc [][]vec.V
	// unlessAlpha1 runs body where alpha is not 1, or always; unlessBeta0 runs it where beta is not 0.
	unlessAlpha1, unlessBeta0 func(body func())
	// load loads one or more vectors of row i of C, beginning with vector j.
	load  func(i, j int) []vec.V
	store func(i int)
}

// emit scales the sums by alpha, adds beta*C, and stores them. If beta is 0, it does not read C.
func (e tileEnd) emit(m vec.Machine) {
	e.unlessAlpha1(func() {
		alpha := m.FloatParam("alpha")
		for _, row := range e.acc {
			for _, v := range row {
				m.MulTo(v, alpha)
			}
		}
	})
	m.Comment("beta = 0 must not read C")
	e.unlessBeta0(func() {
		beta := m.FloatParam("beta")
		for i, row := range e.acc {
			for j := 0; j < len(row); {
				for _, old := range e.load(i, j) {
					m.FMATo(row[j], beta, old)
					j++
				}
			}
		}
	})
	for i := range e.acc {
		e.store(i)
	}
}
