//go:build (amd64 || arm64) && !purego

package checkasm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/checkasm"
	"github.com/avoformer/avoformer/internal/checkasm/broken"
)

// A mistake is a broken function and a text that the reports on it must contain, for all lengths
// and placements taken together.
type mistake struct {
	name  string
	fn    func(dst, x []float32)
	wants string
}

var mistakes = []mistake{
	{"OverRead", broken.OverRead, "fault"},
	{"UnderRead", broken.UnderRead, "fault"},
	{"OverWrite", broken.OverWrite, "wrote around operand dst"},
	{"UnderWrite", broken.UnderWrite, "wrote around operand dst"},
	{"WritesInput", broken.WritesInput, "read-only operand x"},
	{"MissedTail", broken.MissedTail, "elements differ: dst[0,"},
	{"LongTail", broken.LongTail, "wrote around operand dst"},
	{"Stale", broken.Stale, "elements differ: dst[0,"},
	{"FramePointer", broken.FramePointer, "frame pointer"},
	{"StackPointer", broken.StackPointer, "stack pointer 16 bytes off"},
	{"CallerStack", broken.CallerStack, "stack of its caller, 0 bytes above"},
	{"Rounding", broken.Rounding, "changed "},
}

// TestBroken shows that each mistake is found, and that the report names its kind.
func TestBroken(t *testing.T) {
	for _, m := range append(mistakes, machineMistakes...) {
		t.Run(m.name, func(t *testing.T) {
			if m.wants == "fault" && !checkasm.Guarded {
				t.Skip("no guard pages on this system")
			}
			errs := sweep(t, m.fn)
			if len(errs) == 0 {
				t.Fatal("Check accepts it")
			}
			for _, err := range errs {
				if strings.Contains(err.Error(), m.wants) {
					t.Log(err)
					return
				}
			}
			t.Errorf("reported as %v, want a report with %q", errs[0], m.wants)
		})
	}
}

// TestRight shows that a correct function causes no report.
func TestRight(t *testing.T) {
	for _, err := range sweep(t, broken.Right) {
		t.Error(err)
	}
}

// TestInPlace shows the same for operands that share memory.
func TestInPlace(t *testing.T) {
	pool := new(checkasm.Pool)
	defer pool.Close()
	err := checkasm.Check(pool, checkasm.Case{
		Fn: broken.Right,
		Args: []any{
			checkasm.Operand{Name: "dst", Data: []float32{1, 2, 3}, Write: true},
			checkasm.Operand{Name: "x", Same: "dst"},
		},
		Want: func(dst, x []float32) {},
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGaps shows that a write between two rows is found.
func TestGaps(t *testing.T) {
	pool := new(checkasm.Pool)
	defer pool.Close()
	err := checkasm.Check(pool, checkasm.Case{
		Fn: broken.Right, // it copies the gap too
		Args: []any{
			checkasm.Operand{Name: "dst", Data: make([]float32, 6), Rows: 2, Cols: 3, LD: 5, Write: true},
			checkasm.Operand{Name: "x", Data: make([]float32, 8)},
		},
		Want: func(dst, x []float32) { clear(dst) },
	})
	if err == nil || !strings.Contains(err.Error(), "wrote around operand dst") {
		t.Errorf("a write between rows is reported as %v", err)
	}
}

// sweep checks fn as a function that copies, and returns the errors.
func sweep(t *testing.T, fn func(dst, x []float32)) (errs []error) {
	pool := new(checkasm.Pool)
	defer pool.Close()
	for _, n := range checkasm.Lengths(4) {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i + 1)
		}
		for _, at := range checkasm.Placements(4) {
			err := checkasm.Check(pool, checkasm.Case{
				Fn: fn,
				Args: []any{
					checkasm.Operand{Name: "dst", Data: make([]float32, n), Write: true, At: at},
					checkasm.Operand{Name: "x", Data: x, At: at},
				},
				Want: func(dst, x []float32) { copy(dst, x) },
			})
			if err != nil {
				errs = append(errs, fmt.Errorf("n = %d: %w", n, err))
			}
		}
	}
	return errs
}
