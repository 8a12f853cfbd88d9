package weights

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

// llamaCpp returns rows of 256 numbers, and llama.cpp's blocks of them; in formats with the same
// bytes, of the last row only. scripts/quantizers/compare.py -write has written them, with
// xllamacpp 2026.10.11549.
func llamaCpp(t *testing.T) (rows [][]float32, blocks map[Format][]byte) {
	t.Helper()
	b, err := os.ReadFile("testdata/llamacpp.bin")
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(b)
	read := func(x any) {
		if err := binary.Read(r, binary.LittleEndian, x); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	var n uint32
	read(&n)
	for range n {
		row := make([]float32, 256)
		read(row)
		rows = append(rows, row)
	}
	blocks = map[Format][]byte{}
	for r.Len() > 0 {
		var length uint8
		read(&length)
		name := make([]byte, length)
		read(name)
		read(&n)
		b := make([]byte, n)
		read(b)
		f, ok := ByName(string(name))
		if !ok {
			t.Fatalf("format %q", name)
		}
		blocks[f] = b
	}
	return rows, blocks
}

// squares returns the sum of weighted squares of errors of blocks.
func squares(f Format, blocks []byte, x, importance []float32) (sum float64) {
	for p, v := range ref.Blocks(f.String(), blocks).Float32() {
		off := float64(v) - float64(x[p])
		if importance != nil {
			off *= math.Sqrt(float64(importance[p]))
		}
		sum += off * off
	}
	return sum
}

// TestLlamaCppBlocks expects llama.cpp's bytes in the formats without a search, for ties, zeros of
// both signs, denormals and large numbers too. In all other formats it expects smaller errors than
// llama.cpp's, relative to the numbers of each row.
func TestLlamaCppBlocks(t *testing.T) {
	rows, blocks := llamaCpp(t)
	if len(blocks) != 11 {
		t.Fatalf("%d formats, want 11", len(blocks))
	}
	for f, want := range blocks {
		elements, size := f.Block()
		rowBytes := 256 / elements * size
		got := make([]byte, rowBytes)
		var own, other float64
		for i, row := range rows {
			if (i+1)*rowBytes > len(want) {
				break
			}
			f.Encode(got, row, nil)
			want := want[i*rowBytes:][:rowBytes]
			switch f {
			case Q8_0, Q4_0, Q4_1, Q5_0, Q5_1:
				for b := 0; b < rowBytes; b += size {
					if !bytes.Equal(got[b:][:size], want[b:][:size]) {
						t.Errorf("%v: block %d of row %d is % x, want % x", f, b/size, i, got[b:][:size], want[b:][:size])
					}
				}
			default:
				all := 0.0
				for _, v := range row {
					all += float64(v) * float64(v)
				}
				own += squares(f, got, row, nil) / all
				other += squares(f, want, row, nil) / all
			}
		}
		if other > 0 && !(own < other) {
			t.Errorf("%v: mean of squares of errors %v, llama.cpp %v", f, own, other)
		}
	}
}

// TestZeroBlocks expects llama.cpp's bytes for zeros. compare.py compares them with llama.cpp.
func TestZeroBlocks(t *testing.T) {
	nonlinear := bytes.Repeat([]byte{0x88}, 128)
	want := map[Format][]byte{
		Q3_K: make([]byte, 110), Q4_K: make([]byte, 144), Q5_K: make([]byte, 176), Q6_K: make([]byte, 210),
		IQ4_NL: append([]byte{0, 0}, nonlinear[:16]...), IQ4_XS: append([]byte{0, 0x80, 0xaa, 0xaa, 0, 0, 0, 0}, nonlinear...),
	}
	for f, want := range want {
		elements, size := f.Block()
		for _, zero := range []float32{0, float32(math.Copysign(0, -1))} {
			x := make([]float32, elements)
			for i := range x {
				x[i] = zero
			}
			got := make([]byte, size)
			if f.Encode(got, x, nil); !bytes.Equal(got, want) {
				t.Errorf("%v: zeros become % x, want % x", f, got, want)
			}
		}
	}
}

// groupOf returns a group of 16 normal numbers; half of the groups have weights.
func groupOf(r *rand.Rand) *fitGroup {
	var importance []float32
	if r.IntN(2) == 0 {
		importance = make([]float32, 16)
		for i := range importance {
			importance[i] = r.Float32()
		}
	}
	g := new(fitGroup)
	g.set(normal(r, 16), importance, true)
	return g
}

// rounded returns the sums of the integers from low to high that are nearest to numbers, divided by
// scale, plus offset.
func rounded(g *fitGroup, inverse, offset float32, low, high float64) (s sums) {
	for p, x := range g.x {
		q := max(low, min(math.RoundToEven(float64(x)*float64(inverse)+float64(offset)), high))
		w := float64(g.w[p])
		s.q, s.qx, s.qq = s.q+w*q, s.qx+w*q*float64(x), s.qq+w*q*q
	}
	return s
}

// TestTrials expects the sums of trials to be those of rounding with each scale, except where a
// number is next to halfway between integers.
func TestTrials(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	off, all := 0, 0
	for range 500 {
		g, s := groupOf(r), search{isa: simd.Active()}
		for range fitTrials {
			s.add(20*r.Float32(), r.Float32()-0.5)
		}
		s.run(g, -4, 7)
		for i := range s.n {
			got, want := s.of(i), rounded(g, s.scale[i], s.offset[i], -4, 7)
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(1+math.Abs(b)) }
			if all++; !near(got.q, want.q) || !near(got.qx, want.qx) || !near(got.qq, want.qq) {
				off++
			}
		}
	}
	if off > all/1000 {
		t.Errorf("%d of %d sums differ from those of rounding", off, all)
	}
}

// TestFit compares the errors of the scales that a search finds with those of the best of 2,000
// scales.
func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	var own, best float64
	for range 300 {
		g, s := groupOf(r), search{isa: simd.Active()}
		errorOf := func(inverse float32) float64 {
			sum := rounded(g, inverse, 0, -8, 7)
			return g.sxx - sum.qx*sum.qx/sum.qq
		}
		own += errorOf(inverseOf(s.fit(g, -8, 7, &sweepQ4_0)))
		least := math.Inf(1)
		for i := range 2000 {
			inverse := float32(7+2.5*float64(i%1000)/1000) * float32(1-i/1000*2)
			least = min(least, errorOf(inverse/max(g.most, -g.least)))
		}
		best += least
	}
	if !(own < 1.1*best) {
		t.Errorf("squares of errors %v, the best scales %v", own, best)
	}
}

// TestEqualNumbers has groups whose numbers are all the same, by themselves and next to groups of
// normal numbers, and expects them back within a step.
func TestEqualNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	for _, f := range []Format{Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS} {
		elements, size := f.Block()
		blocks, ones := make([]byte, size), make([]float32, elements)
		for p := range ones {
			ones[p] = 1
		}
		for _, v := range []float32{0, 1, -1, 0.75, 0.3, 2, 100, -5.5, 1 << 10} {
			for _, equal := range []int{32, elements} {
				for _, importance := range [][]float32{nil, ones} {
					x := normal(r, elements)
					for p := range x {
						if v != 0 {
							x[p] *= v / 4
						}
						if p < equal {
							x[p] = v
						}
					}
					f.Encode(blocks, x, importance)
					for p, got := range ref.Blocks(f.String(), blocks).Float32()[:equal] {
						if off := math.Abs(float64(got - v)); !(off <= 0.15*math.Abs(float64(v))) {
							t.Fatalf("%v, %d of %d numbers are %v: element %d is %v", f, equal, elements, v, p, got)
						}
					}
				}
			}
		}
	}
}

// TestEnds has the numbers with which quantizers begin: the first of two zeros, and numbers that
// are not finite.
func TestEnds(t *testing.T) {
	negative, inf := float32(math.Copysign(0, -1)), float32(math.Inf(1))
	for _, c := range []struct{ x, ends []float32 }{
		{[]float32{3, -2, 5, 1}, []float32{-2, 5}},
		{[]float32{-3, -2, -5}, []float32{-5, -2}},
		{[]float32{0, negative, 2}, []float32{0, 2}},
		{[]float32{negative, 0, 2}, []float32{negative, 2}},
		{[]float32{-1, negative, 0}, []float32{-1, negative}},
		{[]float32{1e-45, -1e-45}, []float32{-1e-45, 1e-45}},
		{[]float32{1, inf}, nil}, {[]float32{1, -inf}, nil}, {[]float32{1, inf - inf, 2}, nil}, {[]float32{1, -(inf - inf), 2}, nil},
	} {
		low, high, nan := endsOf(c.x)
		switch {
		case c.ends == nil:
			if nan == nan {
				t.Errorf("%v: finite", c.x)
			}
		case nan != 0 || math.Float32bits(low) != math.Float32bits(c.ends[0]) || math.Float32bits(high) != math.Float32bits(c.ends[1]):
			t.Errorf("%v: from %v to %v, %v", c.x, low, high, nan)
		}
	}
}

// TestImportance expects that importance lowers the weighted error in every format that searches
// with it, and that an element without importance does not keep other elements from a small error.
func TestImportance(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	const n = 64 * 256
	x, importance := normal(r, n), make([]float32, n)
	for i := range importance {
		importance[i] = float32(math.Exp(1.5 * r.NormFloat64()))
		if r.IntN(50) == 0 {
			x[i], importance[i] = 30*x[i], 0
		}
	}
	for _, f := range []Format{Q4_0, Q4_1, Q5_0, Q5_1, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS} {
		elements, size := f.Block()
		plain, weighed := make([]byte, n/elements*size), make([]byte, n/elements*size)
		f.Encode(plain, x, nil)
		f.Encode(weighed, x, importance)
		before, after := squares(f, plain, x, importance), squares(f, weighed, x, importance)
		if !(after < 0.9*before) {
			t.Errorf("%v: weighted squares of errors %v with importance, %v without", f, after, before)
		}
		f.Encode(weighed, x, make([]float32, n)) // no importance at all
		if e, most := squares(f, weighed, x, nil), 1.5*squares(f, plain, x, nil); !(e < most) {
			t.Errorf("%v: squares of errors %v where all importance is 0, want at most %v", f, e, most)
		}
	}
}

// TestSearchedSpecial has blocks with one NaN or infinity, numbers near both ends of float32, and
// whole numbers that blocks represent.
func TestSearchedSpecial(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, f := range []Format{Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS} {
		_, size := f.Block()
		blocks := make([]byte, size)
		elements, _ := f.Block()
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32} {
			x := normal(r, elements)
			x[r.IntN(elements)] = bad
			for _, importance := range [][]float32{nil, make([]float32, elements)} {
				f.Encode(blocks, x, importance)
				for p, v := range ref.Blocks(f.String(), blocks).Float32() {
					if v-v == 0 {
						t.Fatalf("%v, %v in the block: element %d is %v", f, bad, p, v)
					}
				}
			}
		}
		for _, tiny := range []float32{1e-45, 1e-40, 1e-38, 1e-20} {
			x := normal(r, elements)
			for p := range x {
				x[p] *= tiny
			}
			f.Encode(blocks, x, nil)
			for p, v := range ref.Blocks(f.String(), blocks).Float32() {
				if math.Abs(float64(v)) > 1e-6 {
					t.Fatalf("%v, numbers of %v: element %d is %v", f, tiny, p, v)
				}
			}
		}
	}
}

func BenchmarkQuantize(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x := normal(r, 1<<14)
	for _, f := range []Format{Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS} {
		b.Run(f.String(), func(b *testing.B) {
			dst := make([]byte, len(x)*2)
			for b.Loop() {
				f.Encode(dst, x, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/number")
		})
	}
}
