package kernels

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/ref"
)

var updateInt8 = flag.Bool("update-int8", false, "write testdata/int8_bits.txt from the reference")

const int8Bits = "testdata/int8_bits.txt"

// int8Case is a product with weights of int8.
type int8Case struct {
	m, n, k     int
	alpha, beta float32
	ep          string // of b for a bias, r for ReLU, x for a residual
	input       string // the kind of numbers; "" for between -4 and 4
}

func (c int8Case) String() string {
	return fmt.Sprintf("%dx%dx%d,%v,%v,%s,%s", c.m, c.n, c.k, c.alpha, c.beta, c.ep, c.input)
}

var int8Cases = func() (all []int8Case) {
	sizes := [][3]int{{1, 1, 1}, {1, 32, 64}, {2, 33, 63}, {3, 31, 65}, {5, 7, 128}, {6, 64, 100}, {7, 40, 256}, {12, 96, 192},
		{13, 17, 1000}, {65, 100, 70}, {140, 64, 129}, {2, 9, 127}, {3, 40, 257}, {1, 300, 3000}, {4, 50, 16}, {11, 16, 15}, {20, 48, 96}}
	for i, s := range sizes {
		all = append(all,
			int8Case{s[0], s[1], s[2], 1, 0, []string{"", "b", "br", "x", "brx", "r"}[i%6], ""},
			int8Case{s[0], s[1], s[2], 0.3, []float32{0, 1, -0.7}[i%3], []string{"", "bx", "r"}[i%3], ""})
	}
	for _, input := range []string{"127", "-127", "zeros", "zero rows", "tiny", "huge", "mixed", "outliers", "NaN", "Inf", "NaN in B", "Inf in B"} {
		all = append(all, int8Case{9, 34, 200, 1, 0, "b", input})
	}
	for _, k := range []int{simd.Int8Stretch - 1, simd.Int8Stretch, simd.Int8Stretch + 1, 2*simd.Int8Stretch + 200} {
		all = append(all, int8Case{2, 2, k, 1, 0, "brx", "largest"})
	}
	all = append(all, int8Case{7, 33, 300, 1, 0, "", "one huge"})
	return all
}()

// int8Data has the operands of a case. They are made without operations that a compiler may fuse,
// so every machine has the same ones.
type int8Data struct {
	int8Case
	a, b, c, bias, residual []float32
	lda, ldc                int
}

func (c int8Case) data() *int8Data {
	r := rand.New(rand.NewPCG(8, uint64(c.m*1_000_003+c.n*1009+c.k)))
	x := &int8Data{int8Case: c, lda: c.k + 3, ldc: c.n + 2}
	fill := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(int32(r.Uint32()>>8)-1<<23) * 0x1p-21
			switch c.input {
			case "tiny":
				v[i] *= 0x1p-70
			case "huge":
				v[i] *= 0x1p58
			case "mixed":
				v[i] *= float32(math.Ldexp(1, r.IntN(200)-120))
			case "outliers":
				if i%53 == 0 {
					v[i] *= 40
				}
			}
		}
		return v
	}
	x.a, x.b, x.c = fill(c.m*x.lda), fill(c.k*c.n), fill(c.m*x.ldc)
	set := func(v []float32, to float32) {
		for i := range v {
			v[i] = to
		}
	}
	switch input, inB := strings.CutSuffix(c.input, " in B"); input {
	case "127", "-127":
		set(x.a, 127)
		set(x.b, map[string]float32{"127": 127, "-127": -127}[input])
	case "largest": // after the rotation all have about the same magnitude: sums are as large as possible, and odd
		set(x.a, 0)
		set(x.b, 0)
		for p := 0; p < c.k; p += simd.RotateBlock {
			for i := range c.m {
				x.a[i*x.lda+p] = float32(1 - i%2*2)
			}
			for j := range c.n {
				x.b[p*c.n+j] = 1 - float32(p/simd.RotateBlock%(j+2))*(1.0/127)
			}
		}
	case "one huge":
		for i := range c.m {
			x.a[i*x.lda+i*43] = 0x1p100
		}
	case "zeros":
		set(x.a, 0)
	case "zero rows":
		for i := 0; i < c.m; i += 2 {
			clear(x.a[i*x.lda:][:c.k])
		}
	case "NaN", "Inf":
		to := map[string]float32{"NaN": float32(math.NaN()), "Inf": float32(math.Inf(-1))}[input]
		if inB {
			x.b[3*c.n+5] = to
		} else {
			x.a[2*x.lda+70], x.a[4*x.lda+c.k-1] = to, to
		}
	}
	if strings.Contains(c.ep, "b") {
		x.bias = fill(c.n)
	}
	if strings.Contains(c.ep, "x") {
		x.residual = fill(c.m * (c.n + 1))
	}
	return x
}

func (x *int8Data) relu() bool { return strings.Contains(x.ep, "r") }

func (x *int8Data) reference() []float32 {
	c := slices.Clone(x.c)
	ref.GemmInt8(x.m, x.n, x.k, simd.Int8Stretch, x.alpha, x.a, x.lda, x.b, x.n, x.beta, c, x.ldc, x.bias, x.relu(), x.residual, x.n+1)
	return c
}

func (x *int8Data) pack() *PackedB {
	return PackBRows(FormatInt8, x.n, x.k, func(j int, dst []float32) {
		for p := range dst {
			dst[p] = x.b[p*x.n+j]
		}
	})
}

func (x *int8Data) compute(t Threads, b *PackedB) []float32 {
	c := slices.Clone(x.c)
	ep := Epilogue{Bias: x.bias, Residual: x.residual, LdResidual: x.n + 1}
	if x.relu() {
		ep.Activation = ActReLU
	}
	t.GemmPacked(x.m, x.alpha, x.a, x.lda, b, x.beta, c, x.ldc, ep)
	return c
}

// checksum is the same for all NaNs, whose signs differ between machines.
func checksum(x []float32) string {
	h := fnv.New64a()
	for _, v := range x {
		bits := math.Float32bits(v)
		if v != v {
			bits = 0x7fc00000
		}
		h.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// eachConfiguration runs f with every set of implementations that this machine has.
func eachConfiguration(t *testing.T, f func(t *testing.T)) {
	for _, c := range simd.Configurations() {
		if !testenv.Runs(c.ISA.String(), simd.Active().String()) {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			defer c.Use()()
			f(t)
		})
	}
}

// TestInt8Bits expects the bits of one committed table from the reference and from all
// implementations, for any number of threads and sizes of blocks.
func TestInt8Bits(t *testing.T) {
	want := map[string]string{}
	if b, err := os.ReadFile(int8Bits); err == nil {
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			if sum, name, ok := strings.Cut(s.Text(), " "); ok {
				want[name] = sum
			}
		}
	} else if !*updateInt8 {
		t.Fatal(err)
	}
	if *updateInt8 {
		var b strings.Builder
		for _, c := range int8Cases {
			fmt.Fprintf(&b, "%s %v\n", checksum(c.data().reference()), c)
		}
		if err := os.WriteFile(int8Bits, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("written; now without the flag")
	}
	if len(want) != len(int8Cases) {
		t.Fatalf("%d lines in %s for %d cases", len(want), int8Bits, len(int8Cases))
	}
	check := func(t *testing.T, x *int8Data, how string, got []float32) {
		if sum := checksum(got); sum != want[x.String()] {
			t.Errorf("%v, %s: checksum %s, want %s", x, how, sum, want[x.String()])
		}
	}
	counts := []Threads{1, 2, 7}
	if testenv.Slow() {
		counts = counts[2:]
	}
	t.Run("reference", func(t *testing.T) {
		if race.Enabled || testenv.Emulated() {
			t.Skip("one thread, no tier")
		}
		for _, c := range int8Cases {
			x := c.data()
			check(t, x, "reference", x.reference())
		}
	})
	eachConfiguration(t, func(t *testing.T) {
		for _, c := range int8Cases {
			x := c.data()
			b := x.pack()
			for _, threads := range counts {
				check(t, x, fmt.Sprint(threads, " threads"), x.compute(threads, b))
			}
			size := tune.Used.Gemm
			tune.Used.Gemm.Int8Rows, tune.Used.Gemm.Int8Panel = 7, simd.RotateBlock
			tune.Used.Gemm.TileRows, tune.Used.Gemm.TileColumns = 1, 1
			tune.Used.Gemm.WinogradRows, tune.Used.Gemm.WinogradPanel = 1, simd.RotateBlock
			check(t, x, "in small blocks", x.compute(1, b))
			tune.Used.Gemm = size
		}
	})
}

// FuzzInt8 compares the implementation that is in use with the reference.
func FuzzInt8(f *testing.F) {
	f.Add(uint8(7), uint8(33), uint16(130), uint64(1), uint8(3))
	f.Add(uint8(1), uint8(1), uint16(1), uint64(2), uint8(0))
	f.Fuzz(func(t *testing.T, m, n uint8, k uint16, seed uint64, ep uint8) {
		c := int8Case{m: 1 + int(m)%40, n: 1 + int(n)%100, k: 1 + int(k)%1000, alpha: 1}
		for i, e := range "brx" {
			if ep>>i&1 != 0 {
				c.ep += string(e)
			}
		}
		x := c.data()
		r := rand.New(rand.NewPCG(seed, 0))
		for range r.IntN(20) { // some numbers with any bits
			x.a[r.IntN(len(x.a))] = math.Float32frombits(r.Uint32())
			x.b[r.IntN(len(x.b))] = math.Float32frombits(r.Uint32())
		}
		if got, want := checksum(x.compute(Threads(1+ep%3), x.pack())), checksum(x.reference()); got != want {
			t.Errorf("%v: checksum %s, want %s", c, got, want)
		}
	})
}

func TestInt8Allocations(t *testing.T) {
	x := int8Case{m: 30, n: 70, k: 300, alpha: 1, ep: "bx"}.data()
	b, c := x.pack(), slices.Clone(x.c)
	ep := Epilogue{Bias: x.bias, Residual: x.residual, LdResidual: x.n + 1}
	if n := testing.AllocsPerRun(20, func() { GemmPacked(x.m, 1, x.a, x.lda, b, 0, c, x.ldc, ep) }); n > 0 && !race.Enabled {
		t.Errorf("%v allocations in a call", n)
	}
}

// TestInt8SpecialRows expects NaN where a row of A, or a column of B, has a NaN or an infinity, and
// nowhere else.
func TestInt8SpecialRows(t *testing.T) {
	for _, c := range int8Cases {
		inB := strings.Contains(c.input, " in B")
		if !inB && c.input != "NaN" && c.input != "Inf" {
			continue
		}
		x := c.data()
		got := x.compute(1, x.pack())
		for i := range x.m {
			for j := range x.n {
				y, want := got[i*x.ldc+j], inB && j == 5 || !inB && (i == 2 || i == 4)
				if (y != y) != want {
					t.Errorf("%v: element %d,%d is %v, want NaN: %v", c, i, j, y, want)
				}
			}
		}
	}
}

// TestInt8Accuracy compares the product with the bound from the roundings to integers: half a unit
// of each element of A and of B after their rotation.
func TestInt8Accuracy(t *testing.T) {
	for _, c := range int8Cases {
		if c.ep != "" || strings.ContainsAny(c.input, "NI") {
			continue
		}
		x := c.data()
		got := x.compute(1, x.pack())
		columns, units := make([][]float32, x.n), make([]float64, x.n)
		ofA, ofB := ref.BalanceInt8(x.n, x.k, x.b, x.n)
		for j := range units {
			columns[j] = ref.Rotate(x.column(j), ofB)
			units[j] = unitOf(columns[j])
		}
		for i := range x.m {
			row := ref.Rotate(x.a[i*x.lda:][:x.k], ofA)
			for j := range x.n {
				var want, bound, size float64
				for p := range x.k {
					want += float64(x.a[i*x.lda+p]) * float64(x.b[p*x.n+j])
				}
				for p := 0; p < len(row); p += simd.Int8Stretch {
					block := row[p:min(p+simd.Int8Stretch, len(row))]
					unit := max(0x1p-100, unitOf(block))
					for q, v := range block {
						a, b := math.Abs(float64(v)), math.Abs(float64(columns[j][p+q]))
						size += a * b
						bound += unit/2*b + units[j]/2*a + unit*units[j]/4
					}
				}
				want = float64(x.alpha)*want + float64(x.beta)*float64(x.c[i*x.ldc+j])
				bound = 128*math.Abs(float64(x.alpha))*(bound+size*0x1p-16) + 0x1p-20*math.Abs(want)
				if err := math.Abs(float64(got[i*x.ldc+j]) - want); !(err <= bound) {
					t.Fatalf("%v: element %d,%d is %v, want %v within %v", c, i, j, got[i*x.ldc+j], want, bound)
				}
			}
		}
	}
}

// column returns column j of B.
func (x *int8Data) column(j int) []float32 {
	column := make([]float32, x.k)
	for p := range column {
		column[p] = x.b[p*x.n+j]
	}
	return column
}

// unitOf returns 1/127 of the largest magnitude.
func unitOf(x []float32) (unit float64) {
	for _, v := range x {
		unit = max(unit, math.Abs(float64(v))/127)
	}
	return unit
}

// TestInt8Column compares a column with the original, within half a unit after rotation.
func TestInt8Column(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		x := int8Case{m: 1, n: 40, k: 320}.data() // only groups, without padding
		b := x.pack()
		column := make([]float32, x.k)
		_, ofB := ref.BalanceInt8(x.n, x.k, x.b, x.n)
		for j := range x.n {
			b.Column(column, j)
			got, want := ref.Rotate(column, ofB), ref.Rotate(x.column(j), ofB)
			unit := unitOf(want)
			for p, v := range got {
				if math.Abs(float64(v-want[p])) > 0.501*unit {
					t.Fatalf("element %d of column %d, rotated, is %v, was %v, in units of %v", p, j, v, want[p], unit)
				}
			}
		}
	})
}

// TestInt8Outliers has rows with a few channels a hundred times as large as the rest, which without
// a rotation would leave the rest few bits, and rows with an offset, which a rotation without signs
// would make one large element.
func TestInt8Outliers(t *testing.T) {
	const m, n = 8, 24
	for _, k := range []int{384, 312, 96} { // blocks, a partial block, only groups
		for name, change := range map[string]func(v float32, p int) float32{
			"channels": func(v float32, p int) float32 {
				if p%61 == 7 {
					return 100 * v
				}
				return v
			},
			"offset": func(v float32, p int) float32 { return v + 30 },
		} {
			t.Run(fmt.Sprintf("%s/%d", name, k), func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, uint64(k)))
				a, w := make([]float32, m*k), make([]float32, n*k)
				for i := range a {
					a[i] = change(float32(r.NormFloat64()), i%k)
				}
				for i := range w {
					w[i] = float32(r.NormFloat64())
					if i%k%61 == 7 {
						w[i] /= 100 // as in a layer trained with such channels
					}
				}
				got := make([]float32, m*n)
				GemmPacked(m, 1, a, k, PackBRows(FormatInt8, n, k, func(j int, dst []float32) { copy(dst, w[j*k:]) }), 0, got, n, Epilogue{})
				var rotated, plain, size float64 // sums of squares
				for i := range m {
					for j := range n {
						var want, asTheyAre float64
						q, scale := ref.QuantizeInt8(w[j*k:][:k])
						for p := 0; p < k; p += simd.RotateBlock {
							x, s := ref.QuantizeInt8(a[i*k+p : i*k+min(p+simd.RotateBlock, k)])
							for t, v := range x {
								want += float64(a[i*k+p+t]) * float64(w[j*k+p+t])
								asTheyAre += float64(v*q[p+t]) * float64(s) * float64(scale)
							}
						}
						e, f := float64(got[i*n+j])-want, asTheyAre-want
						rotated, plain, size = rotated+e*e, plain+f*f, size+want*want
					}
				}
				t.Logf("root mean square error %.2f%%, as they are %.2f%%", 100*math.Sqrt(rotated/size), 100*math.Sqrt(plain/size))
				most := map[string]float64{"channels": 0.35, "offset": 1.5}[name]
				if math.Sqrt(rotated/plain) > most {
					t.Errorf("the error is %v of that without a rotation, want at most %v", math.Sqrt(rotated/plain), most)
				}
			})
		}
	}
}

func BenchmarkGemmInt8(b *testing.B) {
	for _, s := range [][3]int{{128, 768, 768}, {128, 3072, 768}, {512, 2048, 512}, {32, 768, 768}, {16, 768, 768}, {256, 4096, 4096}} {
		m, n, k := s[0], s[1], s[2]
		r := rand.New(rand.NewPCG(1, 2))
		x, w, c, bias := randomSlice(r, m*k), randomSlice(r, n*k), make([]float32, m*n), make([]float32, n)
		for _, f := range []Format{FormatF32, FormatInt8, FormatBF16Fast} {
			pack := sync.OnceValue(func() *PackedB { return PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, w[j*k:]) }) })
			for _, t := range []Threads{1, 2, 16} {
				b.Run(fmt.Sprintf("format=%v/threads=%d/%dx%dx%d", f, t, m, n, k), func(b *testing.B) {
					p := pack()
					for b.Loop() {
						t.GemmPacked(m, 1, x, k, p, 0, c, n, Epilogue{Bias: bias})
					}
					b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
				})
			}
		}
	}
}

// TestInt8Range multiplies A, or B, by powers of two. In the range that doc/numerics.md states, a
// product with integers is then multiplied by the same power, exactly. Far below, it is 0.
func TestInt8Range(t *testing.T) {
	const m, n, k = 3, 5, 512
	r := rand.New(rand.NewPCG(17, 18))
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(1-2*r.IntN(2)) * (0.5 + r.Float32()/2)
		}
		return x
	}
	a, b := draw(m*k), draw(n*k)
	times := func(x []float32, e int) []float32 {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i] = float32(math.Ldexp(float64(v), e))
		}
		return y
	}
	eachISA(t, func(t *testing.T) {
		product := func(f Format, a, b []float32) []float32 {
			c := make([]float32, m*n)
			packed := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, b[j*k:][:k]) })
			GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{})
			return c
		}
		for _, f := range []Format{FormatInt8, FormatQ8_0, FormatQ4_K, FormatQ6_K, FormatIQ4_NL, FormatMXFP4} {
			plain := product(f, a, b)
			least, none, most := -99, -109, 115
			if f == FormatInt8 {
				least, none, most = -96, -113, 96
			}
			for _, e := range []int{least, most, none} {
				got, exact := product(f, times(a, e), b), times(plain, e)
				for i, v := range got {
					if e == none && v != 0 || e != none && v != exact[i] {
						t.Errorf("%v, A times 2^%d: element %d is %g, and exactly %g", f, e, i, v, exact[i])
					}
				}
			}
			if f != FormatInt8 {
				continue
			}
			for _, e := range []int{-96, 120, none} {
				got, exact := product(f, a, times(b, e)), times(plain, e)
				for i, v := range got {
					if e == none && v != 0 || e != none && v != exact[i] {
						t.Errorf("B times 2^%d: element %d is %g, and exactly %g", e, i, v, exact[i])
					}
				}
			}
		}
	})
}
