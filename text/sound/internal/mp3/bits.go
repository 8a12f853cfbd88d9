package mp3

import "sync"

// bits reads numbers of some bits. After the end there are zeros.
type bits struct {
	data []byte
	at   int // in bits
}

func (b *bits) bit() int {
	at := b.at >> 3
	if at >= len(b.data) {
		b.at++
		return 0
	}
	v := b.data[at] >> (7 - b.at&7) & 1
	b.at++
	return int(v)
}

func (b *bits) take(n int) (v int) {
	for range n {
		v = v<<1 | b.bit()
	}
	return v
}

// granule is what side information says of the samples of a channel, and the factors and values
// that follow it.
type granule struct {
	length    int // in bits
	big       int // pairs of values
	gain      int
	compress  int
	kind      int // of window: 1 at the start of short ones, 2 short, 3 at their end
	mixed     bool
	tables    [3]int
	subgain   [3]int
	regions   [2]int // where the second and the third table begin
	preflag   bool
	coarse    int // 1: factors count twice
	quads     int // table of quadruples
	factors   [39]int
	widths    [39]int // bits of each factor, by which an intensity is known to be illegal
	values    [576]int
	last      int // the number of values up to the last one that is not 0
	intensity int
}

// A node of a tree of codes: its children, or values.
type node struct {
	next  [2]int16
	value int16
	leaf  bool
}

var trees = sync.OnceValue(grow)

func grow() map[int][]node {
	all := map[int][]node{}
	for table, code := range codes {
		var nodes []node
		var read func() int16
		read = func() int16 {
			at := int16(len(nodes))
			nodes = append(nodes, node{})
			if code[0] != '*' {
				hex := func(c byte) int16 {
					if c >= 'a' {
						return int16(c-'a') + 10
					}
					return int16(c - '0')
				}
				nodes[at] = node{value: hex(code[0])<<4 | hex(code[1]), leaf: true}
				code = code[2:]
				return at
			}
			code = code[1:]
			left := read()
			right := read()
			nodes[at].next = [2]int16{left, right}
			return at
		}
		read()
		all[table] = nodes
	}
	return all
}

// escapes are the bits after a value of 15, of tables from 16 on.
var escapes = [16]int{1, 2, 3, 4, 6, 8, 10, 13, 4, 5, 6, 7, 8, 9, 11, 13}

// treeOf returns the codes of a table; nil: all values are 0.
func treeOf(table int) (tree []node, escape int) {
	switch {
	case table >= 24:
		return trees()[24], escapes[table-16]
	case table >= 16:
		return trees()[16], escapes[table-16]
	}
	return trees()[table], 0
}

func (b *bits) code(tree []node) int {
	at := int16(0)
	for !tree[at].leaf {
		at = tree[at].next[b.bit()]
	}
	return int(tree[at].value)
}

func (b *bits) signed(v, escape int) int {
	if v == 15 && escape > 0 {
		v += b.take(escape)
	}
	if v != 0 && b.bit() == 1 {
		v = -v
	}
	return v
}

// side reads the side information of a frame: how many bytes before it the main data begins, and
// which factors of the second granule are those of the first.
func side(h header, data []byte) (back int, same [2][4]bool, all [2][2]granule) {
	b := &bits{data: data}
	if h.low == 0 {
		back = b.take(9)
		b.take(7 - 2*h.channels)
		for c := range h.channels {
			for i := range same[c] {
				same[c][i] = b.bit() == 1
			}
		}
	} else {
		back = b.take(8)
		b.take(h.channels)
	}
	for g := range h.granules {
		for c := range h.channels {
			r := &all[g][c]
			r.length, r.big, r.gain = b.take(12), b.take(9), b.take(8)
			if h.low == 0 {
				r.compress = b.take(4)
			} else {
				r.compress = b.take(9)
			}
			long := longBands[h.rateIndex]
			if b.bit() == 1 {
				r.kind, r.mixed = b.take(2), b.bit() == 1
				r.tables[0], r.tables[1] = b.take(5), b.take(5)
				for i := range r.subgain {
					r.subgain[i] = b.take(3)
				}
				switch { // the second table begins at the eighth band, or the third of short ones
				case r.kind == 2:
					r.regions[0] = 3 * shortBands[h.rateIndex][3]
				default:
					r.regions[0] = long[8]
				}
				r.regions[1] = 576
			} else {
				for i := range r.tables {
					r.tables[i] = b.take(5)
				}
				first := b.take(4)
				second := b.take(3)
				r.regions[0], r.regions[1] = long[min(first+1, 22)], long[min(first+second+2, 22)]
			}
			if h.low == 0 {
				r.preflag = b.bit() == 1
			}
			r.coarse, r.quads = b.bit(), 32+b.bit()
			r.big = min(r.big, 288)
		}
	}
	return back, same, all
}

// widthsOf are the bits of factors by scalefac_compress, for MPEG-1.
var widthsOf = [2][16]int{{0, 0, 0, 0, 3, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4}, {0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 2, 3}}

// counts are how many factors have the same number of bits, for MPEG-2: of long, short and mixed
// blocks.
var counts = [6][3][4]int{
	{{6, 5, 5, 5}, {9, 9, 9, 9}, {6, 9, 9, 9}}, {{6, 5, 7, 3}, {9, 9, 12, 6}, {6, 9, 12, 6}}, {{11, 10, 0, 0}, {18, 18, 0, 0}, {15, 18, 0, 0}},
	{{7, 7, 7, 0}, {12, 12, 12, 0}, {6, 15, 12, 0}}, {{6, 6, 6, 3}, {12, 9, 9, 6}, {6, 12, 9, 6}}, {{8, 8, 5, 0}, {15, 12, 9, 0}, {6, 18, 9, 0}},
}

// readFactors reads the scale factors: those of long bands, then of short ones, three windows after
// each other.
func (r *granule) readFactors(b *bits, h header, second bool, same [4]bool, before *granule, right bool) {
	if h.low > 0 {
		r.readLowFactors(b, right && h.joint&1 != 0)
		return
	}
	w0, w1 := widthsOf[0][r.compress], widthsOf[1][r.compress]
	if r.kind == 2 {
		n := 18
		if r.mixed {
			n = 17
		}
		for i := range n + 18 {
			w := w0
			if i >= n {
				w = w1
			}
			r.factors[i] = b.take(w)
		}
		return
	}
	borders := [5]int{0, 6, 11, 16, 21}
	for i, from := range borders[:4] {
		to, w := borders[i+1], w0
		if i >= 2 {
			w = w1
		}
		for k := from; k < to; k++ {
			if second && same[i] {
				r.factors[k] = before.factors[k]
			} else {
				r.factors[k] = b.take(w)
			}
		}
	}
}

func (r *granule) readLowFactors(b *bits, intense bool) {
	c, row := r.compress, 0
	var w [4]int
	switch {
	case !intense && c < 400:
		w = [4]int{(c >> 4) / 5, (c >> 4) % 5, (c & 15) >> 2, c & 3}
	case !intense && c < 500:
		c -= 400
		w, row = [4]int{(c >> 2) / 5, (c >> 2) % 5, c & 3, 0}, 1
	case !intense:
		c -= 500
		w, row = [4]int{c / 3, c % 3, 0, 0}, 2
		r.preflag = true
	default:
		r.intensity = c & 1
		switch c >>= 1; {
		case c < 180:
			w, row = [4]int{c / 36, c % 36 / 6, c % 6, 0}, 3
		case c < 244:
			c -= 180
			w, row = [4]int{(c & 63) >> 4, (c & 15) >> 2, c & 3, 0}, 4
		default:
			c -= 244
			w, row = [4]int{c / 3, c % 3, 0, 0}, 5
		}
	}
	kind := 0
	if r.kind == 2 {
		kind = 1
		if r.mixed {
			kind = 2
		}
	}
	at := 0
	for i, n := range counts[row][kind] {
		for range n {
			r.factors[at], r.widths[at] = b.take(w[i]), w[i]
			at++
		}
	}
}

// readValues reads the values up to the end of the granule, which began at a bit.
func (r *granule) readValues(b *bits, end int) {
	at := 0
	for i, table := range r.tables {
		to := 2 * r.big
		if i < 2 {
			to = min(to, r.regions[i])
		}
		tree, escape := treeOf(table)
		for ; at < to; at += 2 {
			if tree == nil || b.at >= end {
				continue
			}
			v := b.code(tree)
			r.values[at] = b.signed(v>>4, escape)
			r.values[at+1] = b.signed(v&15, escape)
		}
	}
	for at+4 <= 576 && b.at < end {
		v := b.code(trees()[r.quads]) & 15
		var four [4]int
		for i := range four {
			if v>>(3-i)&1 == 1 {
				four[i] = 1 - 2*b.bit()
			}
		}
		if b.at > end {
			break
		}
		copy(r.values[at:], four[:])
		at += 4
	}
	for r.last = 576; r.last > 0 && r.values[r.last-1] == 0; r.last-- {
	}
	b.at = end
}
