package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Dot products of vectors of 1 and -1, computed from the bits in which their signs differ.

// SignPanel is the number of vectors in a panel: their words lie side by side.
const SignPanel = 16

// signCount counts the set bits of lanes: in lanes of 32 bits, or in bytes, where only the counts
// of a few words can be added up.
type signCount struct {
	rows  int // of a tile
	most  int // words whose counts can be added up; 0: any number
	count func(v vec.V) vec.V
}

// SignDots counts in bytes.
var SignDots = Only(func(m vec.Tiler) {
	signDots(m, signCount{rows: max(m.Width()/4, 2), most: 255 / 8, count: m.CountBytes()})
})

// SignDotsByWords counts in lanes of 32 bits.
var SignDotsByWords = Only(func(m interface {
	vec.Tiler
	CountWords(v vec.V) vec.V
}) {
	signDots(m, signCount{rows: max(m.Width()/2, 1), count: m.CountWords})
})

func signDots(m vec.Tiler, c signCount) {
	left, a, dst := m.KeepInt("m"), m.KeepPtr("a"), m.KeepPtr("dst")
	lda, lddst := m.Leading("lda"), m.Leading("lddst")
	dim := m.FloatParam("dim")
	dealWhole(m, c.rows, "", left.Int, func(h int, label func(string) string) {
		t := &signTile{Tiler: m, signCount: c, h: h, vectors: SignPanel / m.Width(), label: label, lda: lda}
		t.b = m.SlicePtr("b")
		n, at := m.IntParam("n"), dst.Ptr()
		m.Label(label("panel"))
		t.a = a.Ptr()
		sums := t.sums()
		out := vec.InTurn(m, at, lddst(), 4)
		out.Begin()
		for i, row := range sums {
			p := out.Row(i)
			for v, sum := range row {
				m.IntToFloat(sum)
				m.AddTo(sum, sum)
				m.Store(p, 4*v*m.Width(), m.Sub(dim, sum))
			}
		}
		m.Bump(at, 4*SignPanel)
		m.CountDown(n, SignPanel, vec.NE, label("panel"))
		m.Comment("the next vectors of A")
		dst.AddRows(h, lddst(), 4)
		a.Add(4 * h)
		left.Add(-h)
	})
}

// signTile is some vectors of A by those of a panel of B.
type signTile struct {
	vec.Tiler
	signCount
	h, vectors int
	label      func(string) string
	lda        func() vec.Int
	a, b       vec.Ptr
}

// sums returns the numbers of bits that differ between vectors of A and those of the panel.
func (t *signTile) sums() [][]vec.V {
	words := t.IntParam("words")
	sums := t.zeros()
	if t.most == 0 {
		t.some(words, "word", sums)
		return sums
	}
	most := t.Number(t.most)
	t.Label(t.label("words"))
	bytes := t.zeros()
	t.some(t.TakeAtMost(words, most), "word", bytes)
	two, four := t.Splat(0x00ff00ff), t.Splat(0x0000ffff)
	for i, row := range bytes {
		for v, b := range row {
			b = t.fold(b, two, 8)
			t.AddInt32To(sums[i][v], t.fold(b, four, 16))
		}
	}
	t.BranchUnlessZero(words, t.label("words"))
	return sums
}

// fold adds neighbouring fields of the given bits; low masks the lower ones.
func (t *signTile) fold(v, low vec.V, bits int) vec.V {
	upper := t.AndInt(t.ShiftRight(v, bits), low)
	t.AddInt32To(upper, t.AndInt(v, low))
	return upper
}

func (t *signTile) zeros() [][]vec.V {
	sums := make([][]vec.V, t.h)
	for i := range sums {
		for range t.vectors {
			sums[i] = append(sums[i], t.Zero())
		}
	}
	return sums
}

// some adds the counts of n words.
func (t *signTile) some(n vec.Int, label string, sums [][]vec.V) {
	t.Label(t.label(label))
	var b []vec.V
	for v := range t.vectors {
		b = append(b, t.Load(t.b, 4*v*t.Width()))
	}
	for i := range t.h {
		a := t.SpreadInt(t.a, 4*i)
		for v := range b {
			t.AddInt32To(sums[i][v], t.count(t.Xor(b[v], a)))
		}
	}
	t.Bump(t.b, 4*SignPanel)
	t.BumpBy(t.a, t.lda())
	t.CountDown(n, 1, vec.NE, t.label(label))
}
