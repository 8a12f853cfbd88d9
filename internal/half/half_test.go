package half

import (
	"math"
	"math/big"
	"testing"
)

// nearest returns the correct result of a narrowing: the candidate whose distance, in exact
// arithmetic, is the smallest. Of two such candidates it returns the one whose last bit is 0. For
// infinity, widen returns the number that would follow the largest finite one.
func nearest(x float32, candidates []uint16, widen func(uint16) float64) uint16 {
	var best uint16
	var least *big.Float
	for _, c := range candidates {
		d := new(big.Float).SetPrec(400).SetFloat64(widen(c))
		d.Sub(d, new(big.Float).SetFloat64(float64(x))).Abs(d)
		if least == nil || d.Cmp(least) < 0 || d.Cmp(least) == 0 && c&1 == 0 {
			best, least = c, d
		}
	}
	return best
}

func TestWideningAndBack(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		for _, c := range []struct {
			name   string
			widen  func(uint16) float32
			narrow func(float32) uint16
			exp    uint16
			quiet  uint16
		}{{"binary16", Float16, ToFloat16, 0x7c00, 0x200}, {"bfloat16", BFloat16, ToBFloat16, 0x7f80, 0x40}} {
			want := h
			if h&c.exp == c.exp && h&^(c.exp|0x8000) != 0 {
				want |= c.quiet
			}
			if got := c.narrow(c.widen(h)); got != want {
				t.Fatalf("%s %04x is %v, and back %04x, want %04x", c.name, h, c.widen(h), got, want)
			}
		}
	}
}

// TestFloat16Values fixes the value of every finite number from the definition.
func TestFloat16Values(t *testing.T) {
	for i := range 1 << 15 {
		exp, frac := i>>10, float64(i&0x3ff)/1024
		want := math.Ldexp(1+frac, exp-15)
		switch exp {
		case 0:
			want = math.Ldexp(frac, -14)
		case 31:
			continue
		}
		if got := Float16(uint16(i)); float64(got) != want {
			t.Fatalf("Float16(%04x) = %v, want %v", i, got, want)
		}
		if got := Float16(uint16(i) | 0x8000); float64(got) != -want || math.Signbit(float64(got)) != true {
			t.Fatalf("Float16(%04x) = %v, want %v", i|0x8000, got, -want)
		}
	}
}

// TestNarrowing rounds the middle between two neighbouring numbers, and the numbers next to the
// middle.
func TestNarrowing(t *testing.T) {
	for _, c := range []struct {
		name   string
		narrow func(float32) uint16
		widen  func(uint16) float32
		inf    uint16
		beyond float64 // the number that would follow the largest
	}{
		{"binary16", ToFloat16, Float16, 0x7c00, 65536},
		{"bfloat16", ToBFloat16, BFloat16, 0x7f80, math.Ldexp(1, 128)},
	} {
		widen := func(h uint16) float64 {
			if h == c.inf {
				return c.beyond
			}
			return float64(c.widen(h))
		}
		for h := uint16(0); h < c.inf; h++ {
			middle := float32((widen(h) + widen(h+1)) / 2)
			for _, x := range []float32{math.Nextafter32(middle, 0), middle, math.Nextafter32(middle, math.MaxFloat32)} {
				want := nearest(x, []uint16{h, h + 1}, widen)
				if got := c.narrow(x); got != want {
					t.Fatalf("%s of %v = %04x, want %04x", c.name, x, got, want)
				}
				if got := c.narrow(-x); got != want|0x8000 {
					t.Fatalf("%s of %v = %04x, want %04x", c.name, -x, got, want|0x8000)
				}
			}
		}
		if got := c.narrow(math.MaxFloat32); got != c.inf {
			t.Errorf("%s of the largest float32 = %04x, want infinity", c.name, got)
		}
	}
}

// TestSlices compares results for slices with results for their elements: for all lengths, with
// every special value in every place.
func TestSlices(t *testing.T) {
	special := []float32{0, 1, -2.5, 65519, 65520, 1e-7, -1e-41, 3.4e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0xff800001)}
	formats := []struct {
		name  string
		slice func(dst []uint16, x []float32)
		one   func(float32) uint16
	}{{"binary16", ToFloat16s, ToFloat16}, {"bfloat16", ToBFloat16s, ToBFloat16}}
	for _, f := range formats {
		for n := range 20 {
			for s, v := range special {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(i) - 7.3
				}
				if n > 0 {
					x[(s*5+n)%n] = v
				}
				dst := make([]uint16, n+1)
				f.slice(dst, x)
				for i, v := range x {
					if want := f.one(v); dst[i] != want {
						t.Fatalf("%s: element %d of %d, %v, is %#x, want %#x", f.name, i, n, v, dst[i], want)
					}
				}
				if dst[n] != 0 {
					t.Fatalf("%s: written after %d elements", f.name, n)
				}
			}
		}
	}
}
