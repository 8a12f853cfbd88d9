package checkasm_test

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/avoformer/avoformer/internal/checkasm"
)

func TestULP(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tiny := float32(math.SmallestNonzeroFloat32)
	for _, c := range []struct {
		got  float32
		want float64
		ulp  float64
	}{
		{1, 1, 0},
		{1, 1 + 1.0/(1<<24), 0.5},
		{1 + 1.0/(1<<22), 1, 2},
		{0.5, 0.5 - 1.0/(1<<25), 1}, // below a power of two a unit is half as large
		{tiny, 0, 1},
		{0, float64(tiny), 1},
		{3 * tiny, float64(tiny) / 2, 2.5},
		{inf, 1e40, 0},
		{-inf, 1e40, math.Inf(1)},
		{inf, math.Inf(1), 0},
		{nan, math.NaN(), 0},
		{nan, 1, math.Inf(1)},
		{1, math.NaN(), math.Inf(1)},
		{inf, 3e38, math.Inf(1)},
	} {
		if got := checkasm.ULP(c.got, c.want); got != c.ulp {
			t.Errorf("ULP(%g, %g) = %g, want %g", c.got, c.want, got, c.ulp)
		}
	}
}

func TestLengths(t *testing.T) {
	got := checkasm.Lengths(4, 16, 40)
	for i := range 20 {
		if got[i] != i {
			t.Fatalf("Lengths(4, 16, 40) = %v", got)
		}
	}
	if rest := got[20:]; len(rest) != 3 || rest[0] != 39 || rest[2] != 41 {
		t.Errorf("Lengths(4, 16, 40) ends in %v, want 39 40 41", rest)
	}
}

// TestGuard touches the guard pages from Go.
func TestGuard(t *testing.T) {
	if !checkasm.Guarded {
		t.Skip("no guard pages on this system")
	}
	b, err := checkasm.NewBuffer(1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	behind := checkasm.Place[byte](b, checkasm.Placement{}, 1)
	front := checkasm.Place[byte](b, checkasm.Placement{Front: true}, 1)
	for _, c := range []struct {
		name  string
		touch func()
		where string
	}{
		{"last byte", func() { behind[0]++ }, ""},
		{"first byte", func() { front[0]++ }, ""},
		{"behind", func() { beyond(behind, 1) }, "at byte 0 of the page behind"},
		{"front", func() { beyond(front, -1) }, "1 bytes before the page in front ends"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkasm.Try(c.touch)
			if fault := new(checkasm.Fault); (c.where != "") != errors.As(err, &fault) {
				t.Fatalf("touching it gives %v", err)
			}
			if got := b.Where(err); got != c.where {
				t.Errorf("Where = %q, want %q", got, c.where)
			}
		})
	}
}

// TestGoFunction checks a Go function, which has no ABI0 entry.
func TestGoFunction(t *testing.T) {
	pool := new(checkasm.Pool)
	defer pool.Close()
	double := func(dst []int16, n int) {
		for i := range dst {
			dst[i] *= int16(n)
		}
	}
	c := checkasm.Case{
		Fn:    double,
		Args:  []any{checkasm.Operand{Name: "dst", Data: []int16{1, 2, 3}, Write: true}, 2},
		Want:  double,
		GoABI: true,
	}
	if err := checkasm.Check(pool, c); err != nil {
		t.Error(err)
	}
	c.Want = func(dst []int16, n int) { copy(dst, []int16{2, 4, 7}) }
	if err := checkasm.Check(pool, c); err == nil {
		t.Error("Check accepts a wrong element")
	}
}

// beyond reads the byte at offset d from the first byte of s.
func beyond(s []byte, d int) { sink = *(*byte)(unsafe.Add(unsafe.Pointer(&s[0]), d)) }

var sink byte
