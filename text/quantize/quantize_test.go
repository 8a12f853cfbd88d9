package quantize

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestCodes compares with sentence-transformers' quantize_embeddings.
func TestCodes(t *testing.T) {
	data, err := os.ReadFile("testdata/codes.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Vectors, Calibration [][]float32
		Codes, Own           map[string][][]int
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	compare := func(what string, got any, want [][]int) {
		t.Helper()
		rows := reflect.ValueOf(got)
		if rows.Len() != len(want) {
			t.Fatalf("%s: %d vectors, want %d", what, rows.Len(), len(want))
		}
		for i := range want {
			row := rows.Index(i)
			if row.Len() != len(want[i]) {
				t.Fatalf("%s: vector %d has %d codes, want %d", what, i, row.Len(), len(want[i]))
			}
			for j, w := range want[i] {
				g := row.Index(j)
				if g.CanInt() && int(g.Int()) != w || g.CanUint() && int(g.Uint()) != w {
					t.Errorf("%s: vector %d, code %d: %v, want %d", what, i, j, g, w)
				}
			}
		}
	}
	for name, vectors := range map[string][][]float32{"codes": want.Calibration, "own": want.Vectors} {
		r, err := RangesOf(vectors)
		if err != nil {
			t.Fatal(err)
		}
		expected := want.Codes
		if name == "own" {
			expected = want.Own
		}
		i8, err := r.Int8(want.Vectors)
		if err != nil {
			t.Fatal(err)
		}
		compare(name+" int8", i8, expected["int8"])
		u8, err := r.Uint8(want.Vectors)
		if err != nil {
			t.Fatal(err)
		}
		compare(name+" uint8", u8, expected["uint8"])
	}
	compare("binary", Binary(want.Vectors), want.Codes["binary"])
	compare("ubinary", UBinary(want.Vectors), want.Codes["ubinary"])
}

// TestCodesEdges: numbers outside the ranges, ranges of one number, and what is refused.
func TestCodesEdges(t *testing.T) {
	r := Ranges{[]float32{0, 1, 0}, []float32{1, 1, 255}}
	i8, err := r.Int8([][]float32{{9, 5, -1.5}, {-9, 1, 255}})
	if want := [][]int8{{127, -124, -128}, {-128, -128, 127}}; err != nil || !reflect.DeepEqual(i8, want) {
		t.Error(i8, err)
	}
	u8, err := r.Uint8([][]float32{{9, 5, -1.5}, {-9, 1, 255}})
	if want := [][]uint8{{255, 4, 0}, {0, 0, 255}}; err != nil || !reflect.DeepEqual(u8, want) {
		t.Error(u8, err)
	}
	if _, err := RangesOf(nil); !errors.Is(err, fault.ErrInput) {
		t.Error(err)
	}
	nan := float32(math.NaN())
	for _, bad := range [][][]float32{{{1, 2}}, {{1, 2, nan}}, {{float32(math.Inf(1)), 1, 1}}} {
		if _, err := r.Int8(bad); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := RangesOf([][]float32{{1}, {nan}}); !errors.Is(err, fault.ErrInput) {
		t.Error(err)
	}
	for _, bad := range []Ranges{{[]float32{1}, nil}, {[]float32{1}, []float32{0}}, {[]float32{nan}, []float32{0}}, {[]float32{-3e38}, []float32{3e38}}} {
		if _, err := bad.Uint8([][]float32{{0}}); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if got := UBinary([][]float32{{1, 0, -1, nan, 2, 1, 1, 1, 1}}); !reflect.DeepEqual(got, [][]uint8{{0x8f, 0x80}}) {
		t.Errorf("%x", got)
	}
	if got := UBinary([][]float32{{}}); len(got) != 1 || len(got[0]) != 0 {
		t.Error(got)
	}
}

// TestScaled compares integers with values by hand, and bounds the error.
func TestScaled(t *testing.T) {
	x := []float32{1, -2, 0.5, 0, 2, -0.25, 1.5, 0.01, -1}
	codes, scales, err := Scaled([][]float32{x, make([]float32, 3), {}})
	if err != nil {
		t.Fatal(err)
	}
	// 63.5, 31.75, 15.875, 95.25 and 0.635 are rounded.
	if want := []int8{64, -127, 32, 0, 127, -16, 95, 1, -64}; !slices.Equal(codes[0], want) || scales[0] != float32(2.0/127) {
		t.Errorf("%d times %g, want %d times %g", codes[0], scales[0], want, 2.0/127)
	}
	if ties, _, err := Scaled([][]float32{{127, 0.5, 1.5, 2.5, -0.5, -1.5}}); err != nil || !slices.Equal(ties[0], []int8{127, 0, 2, 2, 0, -2}) {
		t.Errorf("ties become %d, %v, want those to even", ties, err)
	}
	if scales[1] != 0 || !slices.Equal(codes[1], make([]int8, 3)) || scales[2] != 0 || len(codes[2]) != 0 {
		t.Errorf("zeros and nothing become %d times %g", codes[1:], scales[1:])
	}
}

// TestFloat16 compares with values by hand: ties, the ends of the range, and zeros of both signs.
func TestFloat16(t *testing.T) {
	x := []float32{1, 1 + 0x1p-11, 1 + 0x3p-11, 65519, -65504, 0x1p-24, 0x1p-25, 0x1.8p-25, float32(math.Copysign(0, -1))}
	got, err := Float16([][]float32{x})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint16{0x3c00, 0x3c00, 0x3c02, 0x7bff, 0xfbff, 1, 0, 1, 0x8000}; !slices.Equal(got[0], want) {
		t.Errorf("%#04x, want %#04x", got[0], want)
	}
	if _, err := Float16([][]float32{{1}, {0, -65520}}); !errors.Is(err, fault.ErrNotFinite) || !strings.Contains(err.Error(), "vector 1 has -65520 in dimension 1") {
		t.Errorf("65520: %v", err)
	}
	for _, x := range []float32{70000, 70000.1, 100000, -131072, 3e38} { // apache-arrow stores those of few bits as 2.13, 3.05 and -2
		if got, err := Float16([][]float32{{x}}); !errors.Is(err, fault.ErrNotFinite) {
			t.Errorf("%g becomes %#04x, %v", x, got, err)
		}
	}
}

// TestScaledLengths: integers do not depend on a vector's length, from subnormal numbers to the
// largest.
func TestScaledLengths(t *testing.T) {
	for _, length := range []float32{0x1p-140, 1e-38, 1e-20, 1, 1e20, 0x1p127} {
		codes, scales, err := Scaled([][]float32{{length, -length / 2, length / 4, 0}})
		if err != nil || !slices.Equal(codes[0], []int8{127, -64, 32, 0}) || math.Abs(float64(scales[0])*127/float64(length)-1) > 1e-2 {
			t.Errorf("length %g: %d times %g, %v", length, codes, scales, err)
		}
	}
}

// TestNotFinite has numbers that no function takes.
func TestNotFinite(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		v := [][]float32{{1, float32(x)}}
		if _, err := Float16(v); !errors.Is(err, fault.ErrInput) {
			t.Errorf("Float16 of %g: %v", x, err)
		}
		if _, _, err := Scaled(v); !errors.Is(err, fault.ErrInput) {
			t.Errorf("Scaled of %g: %v", x, err)
		}
	}
}

// TestReverseBits puts the first dimension into the lowest bit, and back.
func TestReverseBits(t *testing.T) {
	packed := UBinary([][]float32{{1, -1, -1, -1, -1, -1, -1, -1, -1, 1}})
	low := ReverseBits(packed)
	if want := []uint8{1, 2}; !slices.Equal(low[0], want) {
		t.Errorf("%08b, want %08b", low[0], want)
	}
	if back := ReverseBits(low); !slices.Equal(back[0], packed[0]) {
		t.Errorf("back: %08b, want %08b", back[0], packed[0])
	}
}
