package kernels

import "sync"

// blocking holds the block sizes of the three loops around the micro-kernel:
// an mc x kc block of A stays in the second-level cache while the panels of a
// kc x nc block of B pass by. One call of the micro-kernel makes 2*mc*kc*NR
// operations, which bounds the time that it holds a P.
type blocking struct{ mc, kc, nc int }

var gemmBlocking = blocking{mc: 168, kc: 384, nc: 3072}

// gemmCall is one product, checked and with something to do.
type gemmCall struct {
	isa         ISA
	m, n, k     int
	alpha, beta float32
	a           operandA
	c           []float32
	ldc         int
	ep          Epilogue
}

// gemmScratch holds the buffers of one running product.
type gemmScratch struct{ a, b []float32 }

var gemmScratchPool = sync.Pool{New: func() any { return new(gemmScratch) }}

// grow is a slice of n elements, buf itself if it is large enough.
func grow(buf []float32, n int) []float32 {
	if cap(buf) < n {
		return make([]float32, n)
	}
	return buf[:n]
}

func (g *gemmCall) run(b *operandB) {
	_, nr := gemmTile(g.isa)
	blk := gemmBlocking
	s := gemmScratchPool.Get().(*gemmScratch)
	defer gemmScratchPool.Put(s)
	if g.a.trans {
		s.a = grow(s.a, min(blk.mc, g.m)*min(blk.kc, g.k))
	}
	if g.k == 0 {
		scaleMatrix(g.c, g.m, g.n, g.ldc, g.beta)
		g.epilogue(0, 0, g.m, g.n)
		return
	}
	for jc := 0; jc < g.n; jc += blk.nc {
		nb := min(blk.nc, g.n-jc)
		for pc := 0; pc < g.k; pc += blk.kc {
			kb := min(blk.kc, g.k-pc)
			beta, last := g.beta, pc+kb == g.k
			if pc > 0 {
				beta = 1
			}
			var panels []float32
			stride := kb * nr
			if b.packed != nil {
				stride = g.k * nr
				panels = b.packed.data[jc/nr*stride+pc*nr:]
			} else {
				s.b = grow(s.b, (nb+nr-1)/nr*stride)
				panels = s.b
				for j := 0; j < nb; j += nr {
					b.pack(panels[j/nr*stride:], pc, jc+j, kb, min(nr, nb-j), nr)
				}
			}
			for ic := 0; ic < g.m; ic += blk.mc {
				mb := min(blk.mc, g.m-ic)
				a, lda := g.a.block(s.a, ic, pc, mb, kb)
				for j := 0; j < nb; j += nr {
					gemmPanel(g.isa, mb, min(nr, nb-j), kb, g.alpha, a, lda,
						panels[j/nr*stride:], nr, beta, g.c[ic*g.ldc+jc+j:], g.ldc)
					if last {
						g.epilogue(ic, jc+j, mb, min(nr, nb-j))
					}
				}
			}
		}
	}
}

// epilogue finishes rows [i, i+m) and columns [j, j+n) of C.
func (g *gemmCall) epilogue(i, j, m, n int) {
	ep := &g.ep
	if ep.Bias == nil && ep.Activation == Identity && ep.Residual == nil {
		return
	}
	for r := i; r < i+m; r++ {
		row := g.c[r*g.ldc+j:][:n]
		if ep.Bias != nil {
			addVec(row, row, ep.Bias[j:j+n])
		}
		activate(ep.Activation, row)
		if ep.Residual != nil {
			addVec(row, row, ep.Residual[r*ep.LdResidual+j:][:n])
		}
	}
}

// activate applies an activation in place.
func activate(act Activation, x []float32) {
	switch act {
	case ActReLU:
		ReLU(x, x)
	case ActGELU:
		GELU(x, x)
	case ActGELUTanh:
		GELUTanh(x, x)
	case ActSiLU:
		SiLU(x, x)
	}
}
