package mem

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// panics returns the text with which f panics, or "".
func panics(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = p.(string)
		}
	}()
	f()
	return ""
}

// TestChecks expects each check to accept its last valid argument and to name its first wrong one.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		name, want string
		check      func()
	}{
		{"size 0", "", func() { CheckSize("F", "n", 0) }},
		{"size below 0", "kernels.F: n = -1, want at least 0", func() { CheckSize("F", "n", -1) }},
		{"length", "", func() { CheckLen("F", "x", 3, 3, "rows") }},
		{"shorter", "kernels.F: len(x) = 2, want 3 (rows)", func() { CheckLen("F", "x", 2, 3, "rows") }},
		{"longer", "kernels.F: len(x) = 4, want 3 (rows)", func() { CheckLen("F", "x", 4, 3, "rows") }},
		{"rows", "", func() { CheckRows("F", make([]float32, 6), make([]float32, 6), 2, 3) }},
		{"rows of dst", "kernels.F: len(dst) = 5, want 6 (rows*cols)", func() { CheckRows("F", make([]float32, 5), make([]float32, 6), 2, 3) }},
		{"rows of x", "kernels.F: len(x) = 7, want 6 (rows*cols)", func() { CheckRows("F", make([]float32, 6), make([]float32, 7), 2, 3) }},
		{"negative rows", "kernels.F: rows = -1, want at least 0", func() { MulLen("F", -1, 3) }},
		{"negative cols", "kernels.F: cols = -2, want at least 0", func() { MulLen("F", 0, -2) }},
		{"ld of 0", "kernels.F: lda = 0, want at least 1 (columns of a)", func() { CheckMatrix("F", "a", 0, 1, 0, 0) }},
		{"ld of a field", "kernels.F: LdA = 2, want at least 3 (columns of A)", func() { CheckMatrix("F", "A", 9, 3, 3, 2) }},
		{"ld of a part", "kernels.F: ep.LdResidual = 2, want at least 3 (columns of ep.Residual)", func() { CheckMatrix("F", "ep.Residual", 9, 3, 3, 2) }},
		{"ld of a field at the end of the alphabet", "kernels.F: LdZ = 2, want at least 3 (columns of Z)", func() { CheckMatrix("F", "Z", 9, 3, 3, 2) }},
		{"matrix without columns", "", func() { CheckMatrix("F", "a", 0, 9, 0, 1) }},
		{"matrix without rows", "", func() { CheckMatrix("F", "a", 0, 0, 9, 9) }},
		{"last row cut off", "kernels.F: len(a) = 12, want at least (3-1)*5+3 ((rows-1)*ld+columns)", func() { CheckMatrix("F", "a", 12, 3, 3, 5) }},
		{"last row whole", "", func() { CheckMatrix("F", "a", 13, 3, 3, 5) }},
	} {
		if got := panics(c.check); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMulLen multiplies up to the largest int, and refuses a product that would overflow.
func TestMulLen(t *testing.T) {
	if MaxInt != math.MaxInt {
		t.Errorf("MaxInt = %d", MaxInt)
	}
	for _, s := range [][2]int{{0, 0}, {0, MaxInt}, {MaxInt, 0}, {1, MaxInt}, {MaxInt, 1}, {3, MaxInt / 3}, {MaxInt / 7, 7}} {
		if got := MulLen("F", s[0], s[1]); got != s[0]*s[1] {
			t.Errorf("%v: %d", s, got)
		}
	}
	for _, s := range [][2]int{{2, MaxInt/2 + 1}, {MaxInt/2 + 1, 2}, {MaxInt, MaxInt}, {3, MaxInt/3 + 1}} {
		if panics(func() { MulLen("F", s[0], s[1]) }) == "" {
			t.Errorf("%v: no panic", s)
		}
	}
}

// TestHolds compares with the position of the last element, for all small matrices. Products that
// overflow must be refused.
func TestHolds(t *testing.T) {
	for rows := 1; rows <= 3; rows++ {
		for cols := range 4 {
			for ld := range 5 {
				for length := range 14 {
					want := cols > 0 && ld >= cols && length >= (rows-1)*ld+cols
					if got := Holds(length, rows, cols, ld); got != want {
						t.Fatalf("length %d, %dx%d, ld %d: %v", length, rows, cols, ld, got)
					}
				}
			}
		}
	}
	for _, s := range [][2]int{{MaxInt, MaxInt}, {3, MaxInt}, {MaxInt, 3}} {
		if Holds(MaxInt, s[0], 1, s[1]) {
			t.Errorf("%d rows that are %d apart fit", s[0], s[1])
		}
	}
	if !Holds(MaxInt, 1, MaxInt, MaxInt) {
		t.Error("one row of the largest length does not fit")
	}
}

// TestGrow keeps a buffer that is large enough, and allocates at least a page.
func TestGrow(t *testing.T) {
	a := Grow[float32](nil, 3)
	if len(a) != 3 || cap(a) < 1<<13 {
		t.Fatalf("%d elements, room for %d", len(a), cap(a))
	}
	a[0] = 5
	if b := Grow(a, cap(a)); len(b) != cap(a) || b[0] != 5 {
		t.Error("a buffer that is large enough was replaced")
	}
	if b := Grow(a, cap(a)+1); len(b) != cap(a)+1 || b[0] != 0 {
		t.Error("a buffer that is too small was kept")
	}
	if b := Grow(a, 0); len(b) != 0 {
		t.Errorf("%d elements, want none", len(b))
	}
}

// TestViews reads the bytes of one slice as other types. Bytes at the end that are less than an
// element are dropped.
func TestViews(t *testing.T) {
	x := []float32{1, -2, 3}
	b := Bytes(x)
	if len(b) != 12 || len(Int8s(b)) != 12 || len(Halves(b)) != 6 || len(Floats(b)) != 3 {
		t.Fatalf("%d bytes, %d int8s, %d halves, %d floats", len(b), len(Int8s(b)), len(Halves(b)), len(Floats(b)))
	}
	Floats(b)[1] = 7
	if !slices.Equal(x, []float32{1, 7, 3}) {
		t.Errorf("%v: the view is a copy", x)
	}
	Int8s(b)[0] = -1
	if b[0] != 255 {
		t.Error("the view of int8 is a copy")
	}
	if len(Floats(b[:7])) != 1 || len(Halves(b[:7])) != 3 {
		t.Errorf("7 bytes are %d floats and %d halves", len(Floats(b[:7])), len(Halves(b[:7])))
	}
	h := make([]uint16, 7)
	if len(Words(h)) != 1 || len(Words(Bytes(make([]float32, 5)))) != 2 {
		t.Error("words that are not whole")
	}
	aligned := unsafe.Slice((*byte)(unsafe.Pointer(new([2]uint64))), 16)
	for i := range 8 {
		if HasWords(aligned[i:]) != (i == 0) {
			t.Errorf("byte %d of an aligned slice: aligned %v", i, HasWords(aligned[i:]))
		}
	}
	if Fill(x, 4); !slices.Equal(x, []float32{4, 4, 4}) {
		t.Errorf("%v", x)
	}
	if len(Bytes(nil)) != 0 || len(Floats(nil)) != 0 || !(NegInf < -3e38) || NegInf-NegInf == 0 {
		t.Error("views of nothing, or NegInf")
	}
}
