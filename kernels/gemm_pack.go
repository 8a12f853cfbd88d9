package kernels

// PackedB is a matrix op(B) in the layout that the inner loops of one tier
// read: panels of NR columns, each panel k rows of NR consecutive elements. It
// is immutable and may be shared by goroutines.
type PackedB struct {
	isa  ISA
	k, n int
	nr   int
	data []float32 // panel j at j*k*nr
}

// K and N are the dimensions of op(B).
func (b *PackedB) K() int { return b.k }

// N is the number of columns of op(B).
func (b *PackedB) N() int { return b.n }

// PackB packs op(B), which is k x n, for GemmPacked on the active tier. B is
// stored k x n with rows ldb apart, or n x k with transB = Trans.
func PackB(transB Transpose, k, n int, b []float32, ldb int) *PackedB {
	checkSize("PackB", "k", k)
	checkSize("PackB", "n", n)
	if transB {
		checkMatrix("PackB", "b", len(b), n, k, ldb)
	} else {
		checkMatrix("PackB", "b", len(b), k, n, ldb)
	}
	_, nr := gemmTile(active)
	panels := (n + nr - 1) / nr
	p := &PackedB{isa: active, k: k, n: n, nr: nr, data: make([]float32, mulLen("PackB", panels, mulLen("PackB", k, nr)))}
	src := operandB{data: b, ld: ldb, trans: transB}
	for j := range panels {
		src.pack(p.data[j*k*nr:][:k*nr], 0, j*nr, k, min(nr, n-j*nr), nr)
	}
	return p
}

// operandA is op(A), read in place or through a copy of a block.
type operandA struct {
	data  []float32
	ld    int
	trans Transpose
}

// block is rows [i, i+m) and columns [p, p+k) of op(A) with its columns
// contiguous: the matrix itself where it is stored so, else a copy in buf.
func (a *operandA) block(buf []float32, i, p, m, k int) (data []float32, ld int) {
	if !a.trans {
		return a.data[i*a.ld+p:], a.ld
	}
	for q := range k {
		src := a.data[(p+q)*a.ld+i:][:m]
		for r, v := range src {
			buf[r*k+q] = v
		}
	}
	return buf, k
}

// operandB is op(B): packed beforehand, or to be packed block by block.
type operandB struct {
	packed *PackedB
	data   []float32
	ld     int
	trans  Transpose
}

// pack copies rows [p, p+k) and columns [j, j+n) of op(B) into dst, rows nr
// apart, with zeros in the columns from n to nr.
func (b *operandB) pack(dst []float32, p, j, k, n, nr int) {
	if !b.trans {
		for q := range k {
			row := dst[q*nr:][:nr]
			clear(row[copy(row[:n], b.data[(p+q)*b.ld+j:]):])
		}
		return
	}
	if n < nr {
		clear(dst[:k*nr])
	}
	for c := range n {
		src := b.data[(j+c)*b.ld+p:][:k]
		for q, v := range src {
			dst[q*nr+c] = v
		}
	}
}
