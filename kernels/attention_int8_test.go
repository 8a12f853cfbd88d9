package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Attention with products of integers.

// int8Attention returns calls that use integers on every tier, with their operands.
func int8Attention() map[string]AttentionParams {
	r := rand.New(rand.NewPCG(7, 8))
	cases := map[string]AttentionParams{}
	add := func(name string, heads, kvHeads, lenQ, lenK, dim, valueDim int, terms ...MaskTerm) {
		p := AttentionParams{Batch: 2, Heads: heads, KVHeads: kvHeads, LenQ: lenQ, LenK: lenK, HeadDim: dim, ValueDim: valueDim, Mask: terms, Int8: true}
		p.Q, p.K, p.V = randomSlice(r, 2*heads*lenQ*dim), randomSlice(r, 2*kvHeads*lenK*dim), randomSlice(r, 2*kvHeads*lenK*valueDim)
		p.Dst = make([]float32, 2*heads*lenQ*valueDim)
		cases[name] = p
	}
	add("one tile", 2, 1, 70, 65, 32, 32)
	add("causal", 1, 1, 66, 66, 64, 64, CausalMask())
	if testenv.Emulated() {
		return cases
	}
	add("wide", 2, 2, 13, 97, 128, 64, LengthMask([]int{97, 33}))
	add("tiles", 2, 1, 61, 700, 64, 32, LengthMask([]int{655, 700}))
	add("window", 1, 1, 150, 150, 64, 32, WindowMask(40, 9))
	add("bias", 1, 1, 90, 120, 32, 32, BiasMask(randomSlice(r, 90*120), 1, 1, 90, 120), KeepMask(randomBools(r, 120, 0.7), 1, 1, 1, 120))
	return cases
}

// roundedRows returns x with each row of dim elements rounded to integers of at most 127 times a
// scale.
func roundedRows(x []float32, dim int) []float32 {
	y := slices.Clone(x)
	for row := range slices.Chunk(y, dim) {
		scale, inverse := simd.QuantizeBlock(row)
		for i, v := range row {
			row[i] = float32(simd.QuantizeOne(v, inverse)) * scale
		}
	}
	return y
}

// TestAttentionInt8 compares results with the attention of rounded queries and keys. The bound is
// half a unit of each value and of each weight.
func TestAttentionInt8(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for name, p := range int8Attention() {
			t.Run(name, func(t *testing.T) {
				rounded := p
				rounded.Q, rounded.K = roundedRows(p.Q, p.HeadDim), roundedRows(p.K, p.HeadDim)
				rounded.setDefaults()
				want, weights, _ := oracle(&rounded)
				Attention(p)
				largest := float64(0)
				for _, v := range p.V {
					largest = max(largest, math.Abs(float64(v)))
				}
				square, wrong := 0.0, 0.0
				for i, want := range want {
					row := weights[i/p.ValueDim*p.LenK:][:p.LenK]
					bound := largest*(0.5/simd.ValueTop+0.5*float64(p.LenK)/(1<<simd.WeightBits)*slices.Max(row)) + 1e-5
					off := math.Abs(float64(p.Dst[i]) - want)
					if !(off <= bound) {
						t.Fatalf("Dst[%d] = %v, want %v except for %v", i, p.Dst[i], want, bound)
					}
					square, wrong = square+want*want, wrong+off*off
				}
				if ratio := math.Sqrt(wrong / square); ratio > 0.004 {
					t.Errorf("root mean square of the error: %v of the results", ratio)
				}
				integers := slices.Clone(p.Dst)
				p.Int8 = false
				if Attention(p); slices.Equal(integers, p.Dst) {
					t.Error("the bits of floats")
				}
			})
		}
	})
}

// TestUsesInt8 compares the answer with the bits of the call, for calls that may use integers and
// calls next to them.
func TestUsesInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	call := func(lenQ, lenK, dim int) AttentionParams {
		return AttentionParams{Batch: 1, Heads: 1, LenQ: lenQ, LenK: lenK, HeadDim: dim, Int8: true, Dst: make([]float32, lenQ*dim),
			Q: randomSlice(r, lenQ*dim), K: randomSlice(r, lenK*dim), V: randomSlice(r, lenK*dim)}
	}
	few, sinks, weights, sequences, none := call(80, 80, 32), call(80, 80, 32), call(80, 80, 32), call(80, 80, 32), call(80, 80, 32)
	few.Int8 = false
	sinks.Sinks = []float32{1}
	weights.Weights = make([]float32, 80*80)
	sequences.LenQ, sequences.LenK, sequences.Batch = 0, 0, 2
	sequences.Sequences = []AttentionSequence{{LenQ: 3, LenK: 10}, {LenQ: 70, LenK: 70, Query: 10, Key: 10}}
	none.Batch = 0
	eachConfiguration(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			p    AttentionParams
			want bool
		}{
			"13 queries, 65 keys": {call(13, 65, 32), true}, "12 queries": {call(12, 65, 32), false}, "64 keys": {call(13, 64, 32), false},
			"a head of 48": {call(80, 80, 48), false}, "not allowed": {few, false}, "sinks": {sinks, false}, "weights": {weights, false},
			"one of two sequences": {sequences, true}, "nothing": {none, false},
		} {
			if got := c.p.UsesInt8(); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
			Attention(c.p)
			integers := slices.Clone(c.p.Dst)
			c.p.Int8 = false
			if Attention(c.p); slices.Equal(integers, c.p.Dst) == c.want {
				t.Errorf("%s: bits of integers: %v", name, !c.want)
			}
		}
	})
}

// TestAttentionInt8Bits: a result depends neither on the number of threads nor on other sequences.
func TestAttentionInt8Bits(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	eachISA(t, func(t *testing.T) {
		for name, p := range int8Attention() {
			Attention(p)
			want := slices.Clone(p.Dst)
			for threads := Threads(2); threads <= 4; threads++ {
				clear(p.Dst)
				if threads.Attention(p); !slices.Equal(want, p.Dst) {
					t.Errorf("%s: other bits on %d threads", name, threads)
				}
			}
			if slices.ContainsFunc(p.Mask, func(m MaskTerm) bool { return len(m.term.Lengths) > 0 }) {
				continue
			}
			one := p
			one.Batch = 1
			n := len(p.Dst) / 2
			one.Q, one.K, one.V, one.Dst = p.Q[len(p.Q)/2:], p.K[len(p.K)/2:], p.V[len(p.V)/2:], make([]float32, n)
			if Attention(one); !slices.Equal(want[n:], one.Dst) {
				t.Errorf("%s: other bits alone", name)
			}
		}
	})
}

// TestAttentionInt8Configurations expects the bits of pure Go from every configuration.
func TestAttentionInt8Configurations(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, dim := range []int{32, 64, 128} {
		for i, n := range []int{65, 96, 127, 128, 129, 257} {
			for _, mask := range []struct {
				name  string
				terms []MaskTerm
			}{
				{"causal", []MaskTerm{CausalMask()}}, // the one in emulators
				{"all", nil},
				{"window", []MaskTerm{WindowMask(70, 20)}},
				{"lengths", []MaskTerm{LengthMask([]int{n, n - 31})}},
			} {
				valueDim := []int{32, 64, 128}[i%3]
				if testenv.Quick() && (i+dim/32+len(mask.terms))%3 != 0 {
					continue
				}
				p := AttentionParams{Batch: 2, Heads: 2, KVHeads: 1, LenQ: n, LenK: n, HeadDim: dim, ValueDim: valueDim, Mask: mask.terms, Int8: true}
				p.Q, p.K, p.V = randomSlice(r, 4*n*dim), randomSlice(r, 2*n*dim), randomSlice(r, 2*n*valueDim)
				p.Dst = make([]float32, 4*n*valueDim)
				restore := simd.Configuration{ISA: simd.Generic}.Use()
				Attention(p)
				restore()
				want := slices.Clone(p.Dst)
				t.Run(fmt.Sprintf("%s/%dx%dx%d", mask.name, n, dim, valueDim), func(t *testing.T) {
					eachConfiguration(t, func(t *testing.T) {
						clear(p.Dst)
						if Attention(p); !slices.Equal(p.Dst, want) {
							t.Error("other bits than in pure Go")
						}
					})
				})
				if testenv.Emulated() {
					return
				}
			}
		}
	}
}

// TestAttentionInt8Special: a NaN or an infinity makes every result that depends on it not finite,
// and no other one.
func TestAttentionInt8Special(t *testing.T) {
	const n, dim = 80, 32
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			what   string
			at     int // the row of Q, K or V
			value  float32
			spoils func(row, column int) bool
		}{
			{"q", 3, nan, func(row, _ int) bool { return row == 3 }},
			{"q", 79, inf, func(row, _ int) bool { return row == 79 }},
			{"k", 5, nan, func(int, int) bool { return true }},
			{"k", 71, nan, func(int, int) bool { return false }}, // hidden
			{"v", 9, nan, func(_, column int) bool { return column == 1 }},
			{"v", 9, -inf, func(_, column int) bool { return column == 1 }},
			{"v", 70, inf, func(int, int) bool { return false }}, // hidden
			{"none", 0, 0, func(int, int) bool { return false }},
		} {
			r := rand.New(rand.NewPCG(1, 1))
			p := AttentionParams{Batch: 1, Heads: 1, LenQ: n, LenK: n, HeadDim: dim, Dst: make([]float32, n*dim), Int8: true, Mask: []MaskTerm{LengthMask([]int{70})}}
			p.Q, p.K, p.V = randomSlice(r, n*dim), randomSlice(r, n*dim), randomSlice(r, n*dim)
			if x := map[string][]float32{"q": p.Q, "k": p.K, "v": p.V}[c.what]; x != nil {
				x[c.at*dim+1] = c.value
			}
			Attention(p)
			for i, v := range p.Dst {
				if row, column := i/dim, i%dim; math.IsNaN(float64(v-v)) != c.spoils(row, column) {
					t.Fatalf("%s: Dst[%d,%d] = %v", fmt.Sprint(c.what, c.at, c.value), row, column, v)
				}
			}
		}
	})
}

// BenchmarkAttentionInt8 has heads of a fused projection, with floats and with integers.
func BenchmarkAttentionInt8(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{12, 128, 32}, {12, 256, 32}, {12, 512, 32}, {12, 128, 64}, {12, 256, 64}, {12, 512, 64}} {
		heads, n, dim := s[0], s[1], s[2]
		row := 3 * heads * dim
		x, dst := randomSlice(r, n*row), make([]float32, n*heads*dim)
		strides := BLHD(n, row, dim)
		for _, int8 := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dx%dx%d/int8=%v", heads, n, dim, int8), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Attention(AttentionParams{Batch: 1, Heads: heads, LenQ: n, LenK: n, HeadDim: dim, Int8: int8,
						Dst: dst, Q: x, K: x[row/3:], V: x[2*row/3:], DstStrides: BLHD(n, row/3, dim), QStrides: strides, KStrides: strides, VStrides: strides})
				}
			})
		}
	}
}
