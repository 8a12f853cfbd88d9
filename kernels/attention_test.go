package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/attend"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/par"
)

// Tests of attention.

// run makes random operands for a case whose sizes, strides and masks are set, calls Attention, and
// compares the result with the oracle, head by head.
func (c attentionCase) run(t *testing.T, threads Threads) {
	t.Helper()
	p := c.p
	p.setDefaults()
	r := rand.New(rand.NewPCG(uint64(p.LenQ*1000+p.LenK), uint64(p.HeadDim)))
	tensor := func(heads, length, dim int, s Strides) []float32 {
		if p.Batch*heads*length*dim == 0 {
			return nil
		}
		return randomSlice(r, (p.Batch-1)*s.Batch+(heads-1)*s.Head+(length-1)*s.Row+dim)
	}
	if p.Q == nil {
		p.Q = tensor(p.Heads, p.LenQ, p.HeadDim, p.QStrides)
		p.K = tensor(p.KVHeads, p.LenK, p.HeadDim, p.KStrides)
		p.V = tensor(p.KVHeads, p.LenK, p.ValueDim, p.VStrides)
	}
	var keys, values paged
	if c.how == inPages {
		const rows = 6 // fewer than a tile has
		keys = inPagesOf(r, c.format, rows, p.Batch, p.KVHeads, p.LenK, p.HeadDim, p.K, &p.KStrides)
		values = keys.alike(p.ValueDim, p.V, &p.VStrides)
		p.K, p.V = keys.numbers, values.numbers
	}
	p.Dst = tensor(p.Heads, p.LenQ, p.ValueDim, p.DstStrides)
	mem.Fill(p.Dst, float32(math.NaN()))
	want, wantWeights, biases := oracle(&p)
	if p.Weights != nil {
		mem.Fill(p.Weights, float32(math.NaN()))
	}
	call := p
	if c.how != asTensors {
		call.LenQ, call.LenK, call.Past = 0, 0, 0
		for b := range p.Batch {
			call.Sequences = append(call.Sequences, AttentionSequence{LenQ: p.LenQ, LenK: p.LenK, Past: p.Past,
				Query: b * p.QStrides.Batch / max(p.QStrides.Row, 1), Key: b * p.KStrides.Batch / max(p.KStrides.Row, 1)})
			if c.how == inPages {
				call.K, call.V, call.KPages, call.VPages = nil, nil, keys.pages, values.pages
				call.Sequences[b].Key, call.Sequences[b].Pages = 0, keys.tables[b]
			}
		}
	}
	threads.Attention(call)
	at := make([]bool, len(p.Dst))
	for b := range p.Batch {
		for h := range p.Heads {
			for i := range p.LenQ {
				for d := range p.ValueDim {
					k := attend.Offset(attend.Strides(p.DstStrides), b, h, i) + d
					at[k] = true
					row := (b*p.Heads+h)*p.LenQ + i
					if want := want[row*p.ValueDim+d]; !closeTo(p.Dst[k], want, biases[row]) {
						t.Fatalf("Dst[%d,%d,%d,%d] = %v, want %v", b, h, i, d, p.Dst[k], want)
					}
				}
			}
		}
	}
	for k, v := range p.Dst {
		if !at[k] && !math.IsNaN(float64(v)) {
			t.Fatalf("Dst[%d], between the rows, was written", k)
		}
	}
	for k, v := range p.Weights {
		if !closeTo(v, wantWeights[k], biases[k/p.LenK]) {
			t.Fatalf("Weights[%d] = %v, want %v", k, v, wantWeights[k])
		}
	}
}

// smallBlocks makes the tiles small: short sequences then have many tiles.
func smallBlocks(t *testing.T) {
	t.Helper()
	size, sizes := attend.Size, order.Attention
	t.Cleanup(func() { attend.Size, order.Attention = size, sizes })
	attend.Size = attend.Sizes{
		UnitRows: 5, RelativeRows: 4, FoldKeys: 2, FoldQueries: 64, InPlaceRows: 1, AccumulateRows: 1, CrowdedRows: 3,
	}
	order.Attention = order.AttentionSizes{Block: 7, WindowBlock: 4, RelativeBlock: 6, Stretch: 8}
}

func randomBools(r *rand.Rand, n int, p float64) []bool {
	s := make([]bool, n)
	for i := range s {
		s[i] = r.Float64() < p
	}
	return s
}

func attentionCases() []attentionCase {
	r := rand.New(rand.NewPCG(3, 4))
	var cases []attentionCase
	add := func(name string, p AttentionParams) { cases = append(cases, attentionCase{name: name, p: p}) }
	for _, dim := range []int{1, 8, 20, 32, 64, 80, 128} {
		for _, l := range [][2]int{{1, 1}, {1, 40}, {2, 9}, {3, 17}, {10, 10}, {33, 21}, {19, 70}} {
			add(fmt.Sprintf("dim=%d/q=%d/k=%d", dim, l[0], l[1]), AttentionParams{Batch: 2, Heads: 2, LenQ: l[0], LenK: l[1], HeadDim: dim})
		}
	}
	base := AttentionParams{Batch: 2, Heads: 4, LenQ: 13, LenK: 31, HeadDim: 20, Past: 18}
	with := func(name string, f func(p *AttentionParams)) {
		p := base
		f(&p)
		add(name, p)
	}
	bq, bk, n := base.LenQ, base.LenK, base.Batch*base.Heads*base.LenQ*base.LenK
	mask := func(name string, terms ...MaskTerm) { with(name, func(p *AttentionParams) { p.Mask = terms }) }
	with("scale", func(p *AttentionParams) { p.Scale = 0.7 })
	with("valueDim", func(p *AttentionParams) { p.ValueDim = 36 })
	with("gqa", func(p *AttentionParams) { p.KVHeads = 2 })
	with("mqa", func(p *AttentionParams) { p.KVHeads = 1 })
	with("headMask", func(p *AttentionParams) { p.HeadMask = []float32{1, 0, 0.5, 2} })
	for name, sinks := range map[string][]float32{"sinks": {0.5, -3, 4, 1}, "sinks/far": {200, -200, 0, mem.NegInf}} {
		with(name, func(p *AttentionParams) { p.Sinks = sinks })
		with(name+"/one", func(p *AttentionParams) { p.Sinks, p.LenQ, p.Past, p.KVHeads = sinks, 1, 30, 2 })
		with(name+"/few", func(p *AttentionParams) { p.Sinks, p.LenQ, p.LenK, p.Past = sinks, 2, 3, 1 })
		with(name+"/window", func(p *AttentionParams) { p.Sinks, p.Mask = sinks, []MaskTerm{WindowMask(3, 0)} })
		with(name+"/many", func(p *AttentionParams) {
			p.Sinks, p.LenK, p.Past, p.HeadMask = sinks, 300, 287, []float32{1, 0, 0.5, 2}
		})
		with(name+"/weights", func(p *AttentionParams) {
			p.Sinks, p.Weights, p.Mask = sinks, make([]float32, 2*4*13*31), []MaskTerm{CausalMask(), LengthMask([]int{31, 9})}
		})
	}
	with("fusedQKV", func(p *AttentionParams) {
		p.LenK, p.Past = 13, 0
		d := 4 * 20
		x := randomSlice(r, 2*13*3*d)
		p.Q, p.K, p.V = x, x[d:], x[2*d:]
		p.QStrides = BLHD(13, 3*d, 20)
		p.KStrides, p.VStrides, p.DstStrides = p.QStrides, p.QStrides, BLHD(13, d, 20)
	})
	for _, name := range []string{"crowded", "crowded/causal", "crowded/queryLengths"} {
		with(name, func(p *AttentionParams) { // rows 4 KiB apart
			p.Batch, p.Heads, p.LenQ, p.LenK, p.Past, p.ValueDim = 1, 1, 70, 70, 0, 37
			x := randomSlice(r, 70<<10)
			p.Q, p.K, p.V = x, x[20:], x[40:]
			p.QStrides = Strides{Row: 1 << 10}
			p.KStrides, p.VStrides = p.QStrides, p.QStrides
			switch name {
			case "crowded/causal":
				p.Mask = []MaskTerm{CausalMask()}
			case "crowded/queryLengths": // some queries see only the last keys
				lengths := make([]int, p.Batch*p.LenQ)
				for i := range lengths {
					lengths[i] = r.IntN(20) + i%7/6*r.IntN(50)
				}
				p.Mask = []MaskTerm{QueryLengthMask(lengths)}
			}
		})
	}
	with("padded", func(p *AttentionParams) {
		p.QStrides, p.KStrides = Strides{2000, 400, 23}, Strides{4000, 800, 24}
		p.VStrides, p.DstStrides = Strides{4000, 801, 25}, Strides{2001, 401, 21}
	})
	mask("causal", CausalMask())
	mask("window", WindowMask(4, 0))
	mask("local", WindowMask(3, 2))
	mask("future", WindowMask(-1, 5))
	mask("lengths", LengthMask([]int{5, 31}))
	mask("lengths/zero", LengthMask([]int{0, 3}))
	lengths := make([]int, base.Batch*bq)
	for i := range lengths {
		lengths[i] = r.IntN(bk + 1)
	}
	mask("queryLengths", QueryLengthMask(lengths))
	mask("keep", KeepMask(randomBools(r, n, 0.7), 2, 4, bq, bk))
	mask("keep/sparse", KeepMask(randomBools(r, n, 0.05), 2, 4, bq, bk))
	mask("keep/padding", KeepMask(randomBools(r, 2*bk, 0.6), 2, 1, 1, bk))
	mask("keep/queries", KeepMask(randomBools(r, 2*bq, 0.6), 2, 1, bq, 1))
	mask("keep/none", KeepMask(make([]bool, 1), 1, 1, 1, 1))
	mask("block", BlockMask(randomBools(r, bq*bk, 0.6), 1, 1, bq, bk))
	mask("block/queries", BlockMask(randomBools(r, bq, 0.6), 1, 1, bq, 1))
	mask("bias", BiasMask(randomSlice(r, n), 2, 4, bq, bk))
	mask("bias/heads", BiasMask(randomSlice(r, 4*bq*bk), 1, 4, bq, bk))
	mask("bias/keys", BiasMask(randomSlice(r, 2*bk), 2, 1, 1, bk))
	mask("bias/queries", BiasMask(randomSlice(r, bq), 1, 1, bq, 1))
	inf := randomSlice(r, bq*bk)
	for i := range inf {
		if r.IntN(2) == 0 || i < 2*bk {
			inf[i] = mem.NegInf
		}
	}
	mask("bias/inf", BiasMask(inf, 1, 1, bq, bk))
	mask("alibi", ALiBiMask([]float32{0.5, 0.25, 0.125, 0.0625}))
	all := []MaskTerm{CausalMask(), LengthMask([]int{25, 31}), KeepMask(randomBools(r, bq*bk, 0.7), 1, 1, bq, bk),
		BlockMask(randomBools(r, 2*bk, 0.3), 2, 1, 1, bk), BiasMask(randomSlice(r, 4*bk), 1, 4, 1, bk), ALiBiMask([]float32{0.5, 0.25, 0.125, 0.0625})}
	mask("all", all...)
	with("relativeKey", func(p *AttentionParams) { p.Relative = randomSlice(r, (2*40-1)*20) })
	with("relativeKeyQuery", func(p *AttentionParams) { p.Relative, p.RelativeKeys = randomSlice(r, (2*40-1)*20), true })
	with("everything", func(p *AttentionParams) {
		p.Relative, p.RelativeKeys, p.Mask, p.KVHeads, p.ValueDim = randomSlice(r, (2*40-1)*20), true, all, 2, 33
		p.HeadMask = []float32{1, 0, 0.5, 2}
	})
	with("decode/gqa/alibi", func(p *AttentionParams) {
		p.LenQ, p.Past, p.KVHeads = 1, 30, 2
		p.Mask = []MaskTerm{CausalMask(), ALiBiMask([]float32{0.5, 0.25, 0.125, 0.0625}), BiasMask(randomSlice(r, 4*bk), 1, 4, 1, bk)}
		p.HeadMask = []float32{1, 0, 0.5, 2}
	})
	with("decode/relative", func(p *AttentionParams) {
		p.LenQ, p.Past, p.KVHeads, p.Relative = 1, 30, 2, randomSlice(r, (2*40-1)*20)
	})
	for _, l := range [][2]int{{1, 60}, {1, 600}, {3, 20}, {5, 75}, {40, 50}, {64, 64}} {
		with(fmt.Sprintf("short/%d/%d", l[0], l[1]), func(p *AttentionParams) {
			p.LenQ, p.LenK, p.Past, p.HeadDim, p.ValueDim, p.HeadMask = l[0], l[1], l[1]-l[0], 64, 37, []float32{1, 0, 0.5, 2}
			p.Mask = []MaskTerm{CausalMask(), LengthMask([]int{l[1] / 2, l[1]}), KeepMask(randomBools(r, l[0]*l[1], 0.7), 1, 1, l[0], l[1]),
				BiasMask(randomSlice(r, 4*l[1]), 1, 4, 1, l[1])}
			if l[0] > 1 {
				p.KVHeads = 2
			}
		})
	}
	with("noKeys", func(p *AttentionParams) { p.LenK = 0 })
	with("noQueries", func(p *AttentionParams) { p.LenQ = 0 })
	with("zeroDim", func(p *AttentionParams) { p.HeadDim, p.ValueDim, p.Scale = 0, 3, 1 })
	for i, kv := range []int{1, 2, 1, 2, 2} { // each head has different values
		with(fmt.Sprintf("heads/%d", i), func(p *AttentionParams) {
			p.KVHeads, p.ValueDim, p.HeadMask, p.Sinks = kv, 17+i, []float32{1, 0.25, 0.5, 2}, []float32{0.5, -3, 4, 1}
			p.Mask = []MaskTerm{CausalMask(), BiasMask(randomSlice(r, 4*bk), 1, 4, 1, bk), KeepMask(randomBools(r, n, 0.7), 2, 4, bq, bk)}
		})
	}
	return cases
}

func TestAttention(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, small := range []bool{false, true} {
			t.Run(fmt.Sprintf("small=%v", small), func(t *testing.T) {
				if testenv.Slow() && !small {
					t.Skip("takes long here")
				}
				if small {
					smallBlocks(t)
				}
				for _, c := range attentionCases() {
					for _, weights := range []bool{false, true} {
						for _, empty := range []EmptyRow{EmptyZero, EmptyNaN, EmptyUniform} {
							if empty != EmptyZero && (c.p.Mask == nil && c.p.LenK > 0 || testenv.Slow() && (weights || strings.HasPrefix(c.name, "short/"))) {
								continue
							}
							t.Run(fmt.Sprintf("%s/weights=%v/empty=%d", c.name, weights, empty), func(t *testing.T) {
								c := c
								c.p.Empty = empty
								if weights {
									c.p.Weights = make([]float32, c.p.Batch*c.p.Heads*c.p.LenQ*c.p.LenK)
								}
								c.run(t, 1)
							})
						}
					}
				}
			})
		}
	})
}

// TestAttentionWide has heads that are wide enough to make tiles shrink, and to take more than one
// call of the assembly for short sequences.
func TestAttentionWide(t *testing.T) {
	if testenv.Slow() {
		t.Skip("too many elements for emulators")
	}
	eachISA(t, func(t *testing.T) {
		for _, s := range [][4]int{{5, 9, attend.WholeHeadDim, 8}, {5, 9, attend.WholeHeadDim + 1, 8}, {5, 9, 8, attend.WholeHeadDim + 1}, {14, 120, 5000, 3}, {40, 45, 7, 20000}, {2, 3, 4, 1<<18 + 1}, {1, 300, 3000, 2000}} {
			p := AttentionParams{Batch: 1, Heads: 2, LenQ: s[0], LenK: s[1], HeadDim: s[2], ValueDim: s[3], Past: s[1] - s[0], Mask: []MaskTerm{CausalMask()}}
			t.Run(fmt.Sprint(s), func(t *testing.T) { attentionCase{p: p}.run(t, 2) })
		}
	})
}

// TestAttentionThreads: results do not depend on the number of threads, bit for bit, in any of the
// ways that the work is cut.
func TestAttentionThreads(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	r := rand.New(rand.NewPCG(5, 6))
	sizes := [][5]int{{1, 3, 300, 300, 64}, {5, 4, 10, 10, 32}, {1, 2, 1, 5000, 64}, {2, 1, 3, 3000, 20}, {1, 1, 8, 9000, 16}}
	if testenv.Slow() {
		smallBlocks(t)
		sizes = [][5]int{{1, 3, 40, 40, 20}, {5, 4, 10, 10, 32}, {1, 2, 1, 300, 64}, {1, 1, 8, 200, 16}}
	}
	for _, s := range sizes {
		for _, masked := range []bool{false, true} {
			p := AttentionParams{Batch: s[0], Heads: s[1], LenQ: s[2], LenK: s[3], HeadDim: s[4], Past: s[3] - s[2]}
			p.Q, p.K = randomSlice(r, s[0]*s[1]*s[2]*s[4]), randomSlice(r, s[0]*s[1]*s[3]*s[4])
			p.V = randomSlice(r, len(p.K))
			if masked {
				p.Mask = []MaskTerm{CausalMask(), KeepMask(randomBools(r, s[3], 0.8), 1, 1, 1, s[3])}
			}
			t.Run(fmt.Sprintf("%v/masked=%v", s, masked), func(t *testing.T) {
				attentionCase{p: p}.run(t, 3)
				one, many := make([]float32, len(p.Q)), make([]float32, len(p.Q))
				p.Dst = one
				Attention(p)
				for _, threads := range []Threads{2, 3, 7} {
					p.Dst = many
					threads.Attention(p)
					for i := range one {
						if math.Float32bits(one[i]) != math.Float32bits(many[i]) {
							t.Fatalf("threads=%d: Dst[%d] = %v, serially %v", threads, i, many[i], one[i])
						}
					}
				}
			})
		}
	}
}

// TestAttentionCausalLeak: keys after a query's position do not change its result, bit for bit.
func TestAttentionCausalLeak(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, s := range [][3]int{{40, 40, 0}, {300, 300, 0}, {7, 207, 200}, {1, 50, 20}, {2, 2000, 1000}} {
			lenQ, lenK, past := s[0], s[1], s[2]
			t.Run(fmt.Sprintf("q=%d/k=%d/past=%d", lenQ, lenK, past), func(t *testing.T) {
				const dim = 24
				r := rand.New(rand.NewPCG(7, 8))
				p := AttentionParams{Batch: 1, Heads: 1, LenQ: lenQ, LenK: lenK, HeadDim: dim, Past: past, Mask: []MaskTerm{CausalMask()}}
				p.Q, p.K, p.V = randomSlice(r, lenQ*dim), randomSlice(r, lenK*dim), randomSlice(r, lenK*dim)
				p.Dst = make([]float32, lenQ*dim)
				Attention(p)
				before := append([]float32(nil), p.Dst...)
				for _, future := range []int{past + 1, past + lenQ/2 + 1, lenK - 1} {
					k, v := append([]float32(nil), p.K...), append([]float32(nil), p.V...)
					for i := future * dim; i < len(k); i++ {
						k[i], v[i] = 100*k[i]+3, -50*v[i]
					}
					changed := p
					changed.K, changed.V, changed.Dst = k, v, make([]float32, lenQ*dim)
					Attention(changed)
					seen := min(max(future-past, 0), lenQ)
					for i := range seen * dim {
						if math.Float32bits(changed.Dst[i]) != math.Float32bits(before[i]) {
							t.Fatalf("a change of token %d shows in query %d", future, i/dim)
						}
					}
					if seen < lenQ && future < lenK {
						same := true
						for i := seen * dim; i < lenQ*dim; i++ {
							same = same && changed.Dst[i] == before[i]
						}
						if same {
							t.Fatalf("a change of token %d shows nowhere", future)
						}
					}
				}
			})
		}
	})
}

// TestRelativeReach has tables one distance too short, on either side.
func TestRelativeReach(t *testing.T) {
	const dim = 3
	for _, c := range []struct{ lenQ, lenK, past, reach int }{{1, 5, 0, 5}, {5, 1, 0, 5}, {2, 6, 4, 6}, {1, 9, 2, 7}} {
		for short := range 2 {
			n := c.reach - short
			p := AttentionParams{Batch: 1, Heads: 1, LenQ: c.lenQ, LenK: c.lenK, HeadDim: dim, Past: c.past, Dst: make([]float32, c.lenQ*dim),
				Q: make([]float32, c.lenQ*dim), K: make([]float32, c.lenK*dim), V: make([]float32, c.lenK*dim), Relative: make([]float32, (2*n-1)*dim)}
			panicked := func() (panicked bool) {
				defer func() { panicked = strings.HasPrefix(fmt.Sprint(recover()), "kernels.Attention: len(Relative)") }()
				Attention(p)
				return
			}()
			if panicked != (short > 0) {
				t.Errorf("%+v, %d distances: panic is %v", c, n, panicked)
			}
		}
	}
}

// TestAttentionTiles: results are correct with tiles of other sizes.
func TestAttentionTiles(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, n := range []int{283, 321, 530} {
			p := AttentionParams{Batch: 1, Heads: 1, LenQ: 45, LenK: n, HeadDim: 20, Past: n - 45}
			attentionCase{p: p}.run(t, 1)
			p.Mask = []MaskTerm{CausalMask()}
			attentionCase{p: p}.run(t, 1)
		}
	})
}

func TestAttentionAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector sync.Pool forgets at random")
	}
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct {
		name    string
		s       [5]int
		threads Threads
	}{{"prefill", [5]int{1, 2, 70, 70, 64}, 1}, {"short", [5]int{4, 2, 10, 10, 64}, 1}, {"decode", [5]int{1, 2, 1, 3000, 64}, 1}, {"threads", [5]int{1, 4, 70, 70, 64}, 2}} {
		t.Run(c.name, func(t *testing.T) {
			p := AttentionParams{Batch: c.s[0], Heads: c.s[1], LenQ: c.s[2], LenK: c.s[3], HeadDim: c.s[4], Past: c.s[3] - c.s[2]}
			p.Q, p.K = randomSlice(r, c.s[0]*c.s[1]*c.s[2]*c.s[4]), randomSlice(r, c.s[0]*c.s[1]*c.s[3]*c.s[4])
			p.V, p.Dst, p.Mask = randomSlice(r, len(p.K)), make([]float32, len(p.Q)), []MaskTerm{CausalMask()}
			if n := testing.AllocsPerRun(20, func() { c.threads.Attention(p) }); n >= 1 {
				t.Errorf("%v allocations a call, want 0", n)
			}
		})
	}
}
