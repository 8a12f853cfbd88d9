package elementary

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// function is a function and its counterpart in package math.
type function struct {
	name      string
	got, want func(x float64) float64
	from, to  float64
	ulps      float64 // the allowed difference
}

var functions = []function{
	{"Exp", Exp, math.Exp, -700, 700, 3},
	{"Exp", Exp, math.Exp, -1, 1, 3},
	{"Log", Log, math.Log, 1e-300, 1e300, 3},
	{"Log", Log, math.Log, 0.7, 1.5, 3},
	{"Log10", Log10, math.Log10, 1e-10, 1e10, 3},
	{"Log1p", Log1p, math.Log1p, 0, 1e-5, 3},
	{"Log1p", Log1p, math.Log1p, 0, 1e5, 3},
	{"Sin", Sin, math.Sin, -3, 3, 3},
	{"Cos", Cos, math.Cos, -3, 3, 3},
	{"Sin", Sin, math.Sin, -1e6, 1e6, 3},
	{"Cos", Cos, math.Cos, -1e6, 1e6, 3},
	{"Pow of 10000", func(y float64) float64 { return Pow(10000, y) }, func(y float64) float64 { return math.Pow(10000, y) }, -1, 1, 10},
	{"Pow of 5e5", func(y float64) float64 { return Pow(5e5, y) }, func(y float64) float64 { return math.Pow(5e5, y) }, -2, 2, 10},
	{"Pow of 2", func(y float64) float64 { return Pow(2, y) }, func(y float64) float64 { return math.Pow(2, y) }, -8, 8, 10},
	{"Erfinv", Erfinv, math.Erfinv, -0.9, 0.9, 40},
	{"Erfinv", Erfinv, math.Erfinv, 0.9, 0.999, 1000},
	{"Pow 0.7", func(x float64) float64 { return Pow(x, 0.7) }, func(x float64) float64 { return math.Pow(x, 0.7) }, 1, 1e6, 10},
}

// TestFunctions compares the functions with those of package math, which are off by one ULP, except
// for Pow.
func TestFunctions(t *testing.T) {
	for _, f := range functions {
		r := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			x := f.from + float64(r.Float64()*(f.to-f.from))
			// Near a zero of a sine, the ULP of the argument decides.
			bound := f.ulps*0x1p-52*math.Abs(f.want(x)) + 0x1p-90
			if got, want := f.got(x), f.want(x); !(math.Abs(got-want) <= bound) {
				t.Fatalf("%s(%v) = %v, want %v", f.name, x, got, want)
			}
		}
	}
}

func TestSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Exp(0)", Exp(0), 1}, {"Exp(Inf)", Exp(inf), inf}, {"Exp(-Inf)", Exp(-inf), 0}, {"Exp(NaN)", Exp(nan), nan}, {"Exp(709.7)", Exp(709.7), 1.6549840276802644e308},
		{"Exp(710)", Exp(710), inf}, {"Exp(-740)", Exp(-740), math.Exp(-740)}, {"Exp(-746)", Exp(-746), 0},
		{"Log(0)", Log(0), -inf}, {"Log(1)", Log(1), 0}, {"Log(Inf)", Log(inf), inf}, {"Log(-1)", Log(-1), nan}, {"Log(NaN)", Log(nan), nan},
		{"Log(2^-1022)", Log(0x1p-1022), math.Log(0x1p-1022)}, {"Log(2^-1074)", Log(0x1p-1074), -744.4400719213812},
		{"Log1p(0)", Log1p(0), 0}, {"Log1p(Inf)", Log1p(inf), inf}, {"Log1p(2^-70)", Log1p(0x1p-70), 0x1p-70},
		{"Sin(0)", Sin(0), 0}, {"Cos(0)", Cos(0), 1}, {"Sin(Inf)", Sin(inf), nan}, {"Cos(NaN)", Cos(nan), nan},
		{"Pow(10000, -0.54)", Pow(10000, -0.5428970812724498), 0.006736148844142895}, {"Pow(3, 0)", Pow(3, 0), 1}, {"Erfinv(0)", Erfinv(0), 0}, {"Erfinv(-1)", Erfinv(-1), -inf}, {"Erfinv(2)", Erfinv(2), nan}, {"Pow(0, 2)", Pow(0, 2), 0}, {"Pow(0.5, Inf)", Pow(0.5, inf), 0}, {"Pow(NaN, 1)", Pow(nan, 1), nan}, {"Pow(1, 5)", Pow(1, 5), 1}, {"Pow(10, 400)", Pow(10, 400), inf}, {"Pow(10, -400)", Pow(10, -400), 0},
	} {
		if c.got != c.want && (c.got == c.got || c.want == c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestBits compares a checksum of results, which is the same on every machine.
func TestBits(t *testing.T) {
	h := fnv.New64a()
	for _, f := range functions {
		r := rand.New(rand.NewPCG(3, 4))
		for range 5_000 {
			y := f.got(f.from + float64(r.Float64()*(f.to-f.from)))
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(y)))
		}
	}
	if got, want := fmt.Sprintf("%x", h.Sum64()), "f0cff087270f8040"; got != want {
		t.Errorf("checksum %s, want %s", got, want)
	}
}
