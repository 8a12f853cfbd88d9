package quantize

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
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
