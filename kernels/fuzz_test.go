package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/ref"
)

// The targets make the arguments of a kernel from bytes, run it on every tier, and compare with the
// float64 oracle. All bytes make valid arguments.

// source reads arguments from bytes. After the last byte it returns zeros.
type source []byte

func (s *source) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// upTo returns a number in [0, n], n < 256.
func (s *source) upTo(n int) int { return int(s.byte()) % (n + 1) }

// float returns a number of moderate size, or any bits of a float32 after the byte 0xff, which also
// occurs in the largest NaN.
func (s *source) float() float32 {
	b := s.byte()
	if b != 0xff {
		return float32(int8(b)) / 16
	}
	var bits [4]byte
	for i := range bits {
		bits[i] = s.byte()
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(bits[:]))
}

func (s *source) floats(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = s.float()
	}
	return x
}

// plain returns n numbers of moderate size.
func (s *source) plain(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(int8(s.byte())) / 16
	}
	return x
}

func (s *source) bools(n int) []bool {
	x := make([]bool, n)
	for i := range x {
		x[i] = s.byte()&1 != 0
	}
	return x
}

// onAllTiers runs f on each tier.
func onAllTiers(t *testing.T, f func(isa ISA)) {
	for _, isa := range Supported() {
		restore := simd.Use(simd.ISA(isa))
		f(isa)
		restore()
	}
}

// within reports whether got equals want within bound. If the exact result is too large for a
// float32, got may be infinite, or NaN after a cancellation.
func within(got float32, want, bound float64) bool {
	g := float64(got)
	switch {
	case math.IsNaN(want):
		return math.IsNaN(g)
	case math.Abs(want)+bound > math.MaxFloat32 || math.IsNaN(bound):
		return true
	}
	return math.Abs(g-want) <= bound
}

func seeds(f *testing.F) {
	f.Add([]byte{})
	all := make([]byte, 512)
	for i := range all {
		all[i] = byte(i*37 + i>>3)
	}
	f.Add(all)
	for _, special := range []uint32{0x7fc00000, 0x7f800000, 0xff800000, 1, 0x80000000, 0x7f7fffff, 0x42b17218, 0xc2cff1b5} {
		b := []byte{17, 35, 9, 1, 0, 3, 16, 8}
		for len(b) < 200 {
			b = append(b, 8, 240, 0xff)
			b = binary.LittleEndian.AppendUint32(b, special)
		}
		f.Add(b)
	}
}

func FuzzGemm(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		flags := s.byte()
		transA, transB, small := Transpose(flags&1 != 0), Transpose(flags&2 != 0), flags&4 != 0
		m, n, k := s.upTo(33), s.upTo(70), s.upTo(40)
		alpha, beta := s.float(), s.float()
		if flags&8 != 0 {
			alpha = 1
		}
		if flags&16 != 0 {
			beta = 0
		}
		if k == 0 {
			alpha = 1 // it multiplies nothing
		}
		rowsA, colsA, rowsB, colsB := m, k, k, n
		if transA {
			rowsA, colsA = k, m
		}
		if transB {
			rowsB, colsB = n, k
		}
		lda, ldb, ldc := max(1, colsA)+s.upTo(3), max(1, colsB)+s.upTo(3), max(1, n)+s.upTo(3)
		a, b := s.floats(rowsA*lda), s.floats(rowsB*ldb)
		c := s.floats(m * ldc)
		threads := Threads(1 + s.upTo(2))

		// beta = 0 does not read C, and alpha = 0 reads neither A nor B.
		wide := ref.Widen(c)
		size := ref.Widen(c)
		kk := k
		if alpha == 0 {
			kk = 0
		}
		ref.Gemm(bool(transA), bool(transB), m, n, kk, float64(alpha), ref.Widen(a), lda, ref.Widen(b), ldb, float64(beta), wide, ldc)
		ref.GemmAbs(bool(transA), bool(transB), m, n, kk, float64(alpha), ref.Widen(a), lda, ref.Widen(b), ldb, float64(beta), size, ldc)
		// A float32 may overflow in a step although the result does not, because alpha multiplies
		// A, or B, or the sum: then the result is not checked.
		limit := math.MaxFloat32 / max(1, math.Abs(float64(alpha)), 1/math.Abs(float64(alpha)))
		// For the same reason a rounded denormal alpha*a may multiply a large b.
		denormal := 1 + math.Abs(float64(alpha))
		for _, v := range b {
			denormal = max(denormal, math.Abs(float64(v)))
		}
		if alpha == alpha {
			for _, v := range append(append([]float32(nil), a...), b...) {
				if math.Abs(float64(v)*float64(alpha)) > math.MaxFloat32 {
					limit = 0
				}
			}
		}
		if small {
			stretch, size := order.Stretch, tune.Used.Gemm
			defer func() { order.Stretch, tune.Used.Gemm = stretch, size }()
			order.Stretch, tune.Used.Gemm.MC, tune.Used.Gemm.NC = 9, 17, 64
		}
		check := func(what string, got []float32) {
			for i := range m * ldc {
				if i%ldc >= n {
					if math.Float32bits(got[i]) != math.Float32bits(c[i]) {
						t.Fatalf("%s: wrote between the rows, element %d", what, i)
					}
					continue
				}
				bound := size[i]*float64(k+3)*0x1p-24 + float64(k+3)*0x1p-149*denormal
				if size[i] < limit && !within(got[i], wide[i], bound) || math.IsNaN(wide[i]) && got[i] == got[i] {
					t.Fatalf("%s %dx%dx%d ta=%v tb=%v alpha=%v beta=%v: C[%d,%d] = %v, want %v +- %v",
						what, m, n, k, transA, transB, alpha, beta, i/ldc, i%ldc, got[i], wide[i], bound)
				}
			}
		}
		onAllTiers(t, func(isa ISA) {
			got := append([]float32(nil), c...)
			threads.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, got, ldc)
			check(fmt.Sprint("Gemm on ", isa), got)
			if !transA {
				again := append([]float32(nil), c...)
				GemmPacked(m, alpha, a, lda, PackB(transB, n, k, b, ldb), beta, again, ldc, Epilogue{})
				if alpha != 0 { // GemmPacked multiplies by it
					check(fmt.Sprint("GemmPacked on ", isa), again)
				}
			}
		})
	})
}

func FuzzSoftmax(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		rows, cols := s.upTo(4), 1+s.upTo(140)
		x := s.floats(rows * cols)
		in, soft, logs := ref.Widen(x), ref.Widen(x), ref.Widen(x)
		ref.Softmax(soft, soft, rows, cols)
		ref.LogSoftmax(logs, logs, rows, cols)
		onAllTiers(t, func(isa ISA) {
			dst := make([]float32, len(x))
			Softmax(dst, x, rows, cols)
			for i, got := range dst {
				top := math.Inf(-1)
				for _, v := range in[i/cols*cols:][:cols] {
					top = max(top, v)
				}
				bound := soft[i]*(16+math.Abs(in[i]-top)+float64(cols)/8)*0x1p-24 + 0x1p-126
				if soft[i] == 0 {
					bound = 0x1p-126
				}
				if !within(got, soft[i], bound) {
					t.Fatalf("%v: Softmax %dx%d [%d]: %v of %v, want %v", isa, rows, cols, i, got, x[i], soft[i])
				}
			}
			LogSoftmax(dst, x, rows, cols)
			for i, got := range dst {
				if math.IsInf(logs[i], -1) {
					if got == got && !(float64(got) <= -math.MaxFloat32/2) {
						t.Fatalf("%v: LogSoftmax %dx%d [%d]: %v of %v, want -Inf", isa, rows, cols, i, got, x[i])
					}
					continue
				}
				if !within(got, logs[i], 0x1p-22*(1+math.Abs(logs[i])+float64(cols)/64)) {
					t.Fatalf("%v: LogSoftmax %dx%d [%d]: %v of %v, want %v", isa, rows, cols, i, got, x[i], logs[i])
				}
			}
		})
	})
}

func FuzzElementwise(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		x := s.floats(min(len(data), 300))
		dst := make([]float32, len(x))
		onAllTiers(t, func(isa ISA) {
			for _, c := range elementwiseCases {
				c.f(dst, x)
				for i, got := range dst {
					want := c.want(float64(x[i]))
					if float32(want) != got && !within(got, want, c.bound(float64(x[i]), want)) {
						t.Fatalf("%v: %s(%v) = %v, want %v (element %d of %d)", isa, c.name, x[i], got, want, i, len(x))
					}
				}
			}
		})
	})
}

func FuzzLayerNorm(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		flags := s.byte()
		rows, cols := s.upTo(4), 1+s.upTo(140)
		eps := []float32{1e-5, 1e-12, 1e-3, 1}[flags>>6]
		var weight, bias []float32
		if flags&1 != 0 {
			weight = s.plain(cols)
		}
		if flags&2 != 0 {
			bias = s.plain(cols)
		}
		x, residual := s.plain(rows*cols), s.plain(rows*cols)
		if flags&4 != 0 {
			for i := range x {
				x[i] += 1e4
			}
		}
		hostile := s.float()
		onAllTiers(t, func(isa ISA) {
			checkLayerNorm(t, atWorst(cols), x, residual, rows, cols, weight, bias, eps)
			// A single special number affects at most its own row.
			if rows > 1 {
				spoilt, dst := append([]float32(nil), x...), make([]float32, len(x))
				calm := make([]float32, len(x))
				LayerNorm(calm, x, rows, cols, weight, bias, eps)
				spoilt[cols-1] = hostile
				LayerNorm(dst, spoilt, rows, cols, weight, bias, eps)
				for i := cols; i < len(dst); i++ {
					if math.Float32bits(dst[i]) != math.Float32bits(calm[i]) {
						t.Fatalf("%v: %v in row 0 changes row %d", isa, hostile, i/cols)
					}
				}
				if nan := hostile != hostile || math.IsInf(float64(hostile), 0); nan && dst[0] == dst[0] {
					t.Fatalf("%v: a row with %v begins with %v, want NaN", isa, hostile, dst[0])
				}
			}
		})
	})
}

func FuzzAttention(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		p := AttentionParams{Batch: 1 + s.upTo(1), LenQ: s.upTo(20), LenK: s.upTo(40), HeadDim: 1 + s.upTo(40)}
		p.KVHeads = 1 + s.upTo(1)
		p.Heads = p.KVHeads * (1 + s.upTo(2))
		if s.byte()&1 != 0 {
			p.ValueDim = 1 + s.upTo(40)
		}
		p.Past = s.upTo(20)
		p.Empty = EmptyRow(s.upTo(2))
		if s.byte()&1 != 0 {
			p.Weights = make([]float32, p.Batch*p.Heads*p.LenQ*p.LenK)
		}
		for range s.upTo(3) {
			size := [4]int{p.Batch, p.Heads, p.LenQ, p.LenK}
			n := 1
			for i := range size {
				if s.byte()&1 != 0 {
					size[i] = 1
				}
				n *= size[i]
			}
			lengths := make([]int, p.Batch*p.LenQ)
			for i := range lengths {
				lengths[i] = s.upTo(50) - 5
			}
			terms := []func() MaskTerm{
				CausalMask,
				func() MaskTerm { return WindowMask(s.upTo(20)-2, s.upTo(20)-2) },
				func() MaskTerm { return LengthMask([]int{s.upTo(50), s.upTo(50)}[:p.Batch]) },
				func() MaskTerm { return QueryLengthMask(lengths) },
				func() MaskTerm { return KeepMask(s.bools(n), size[0], size[1], size[2], size[3]) },
				func() MaskTerm { return BlockMask(s.bools(n), size[0], size[1], size[2], size[3]) },
				func() MaskTerm { return BiasMask(s.plain(n), size[0], size[1], size[2], size[3]) },
				func() MaskTerm { return ALiBiMask(s.plain(p.Heads)) },
			}
			p.Mask = append(p.Mask, terms[s.upTo(len(terms)-1)]())
		}
		if s.byte()&1 != 0 {
			smallBlocks(t)
		}
		how, format := operands(s.upTo(int(inPages))), []Format{FormatF32, FormatBF16, FormatF16, FormatInt8}[s.upTo(3)]
		onAllTiers(t, func(isa ISA) { attentionCase{isa.String(), p, how, format}.run(t, Threads(1+len(data)%2)) })
	})
}
