package mem

import (
	"fmt"
	"math/bits"
	"strings"
)

// The argument checks below panic with a text of the form
//
//	kernels.Softmax: len(dst) = 3, want 12 (rows*cols)
//
// which has the function, the argument, its value and the expected value. They run before any data
// is written. MulLen computes the products of sizes: they cannot wrap around, not even on 32-bit
// machines.

// CheckSize panics unless the size called name is at least zero.
func CheckSize(fn, name string, n int) {
	if n < 0 {
		PanicSize(fn, name, n, "want at least 0")
	}
}

// MulLen returns rows*cols. It panics if either is negative or if the product does not fit an int.
func MulLen(fn string, rows, cols int) int {
	if rows < 0 {
		PanicSize(fn, "rows", rows, "want at least 0")
	}
	if cols < 0 {
		PanicSize(fn, "cols", cols, "want at least 0")
	}
	if rows != 0 && cols > MaxInt/rows {
		panic(fmt.Sprintf("kernels.%s: rows*cols = %d*%d overflows int", fn, rows, cols))
	}
	return rows * cols
}

const MaxInt = int(^uint(0) >> 1)

// CheckLen panics unless got, the length of the argument arg, is want. expr is the expression for
// want.
func CheckLen(fn, arg string, got, want int, expr string) {
	if got != want {
		panicLen(fn, arg, got, want, expr)
	}
}

// CheckMatrix panics unless a slice of the given length can hold a row-major rows x cols matrix
// whose rows start ld elements apart: ld must be at least max(cols, 1), and the length at least
// (rows-1)*ld + cols. A matrix without elements needs no memory.
func CheckMatrix(fn, arg string, length, rows, cols, ld int) {
	if ld < cols || ld < 1 {
		panic(fmt.Sprintf("kernels.%s: %s = %d, want at least %d (columns of %s)", fn, leading(arg), ld, max(cols, 1), arg))
	}
	if rows > 0 && cols > 0 && !Holds(length, rows, cols, ld) {
		panic(fmt.Sprintf("kernels.%s: len(%s) = %d, want at least (%d-1)*%d+%d ((rows-1)*ld+columns)", fn, arg, length, rows, ld, cols))
	}
}

// Holds reports whether CheckMatrix accepts a matrix with elements. The drivers inline it, because
// calls and divisions would take a fifth of the time of a small product.
func Holds(length, rows, cols, ld int) bool {
	over, last := bits.Mul(uint(rows-1), uint(ld)) // where the last row starts; far out of range if there is none
	return cols > 0 && cols <= ld && cols <= length && over == 0 && last <= uint(length-cols)
}

// leading returns the name of the leading dimension of the argument arg: lda for a, LdA for the
// field A, and ep.LdResidual for ep.Residual.
func leading(arg string) string {
	i := strings.LastIndexByte(arg, '.') + 1
	if field := arg[i:]; field[0] <= 'Z' {
		return arg[:i] + "Ld" + field
	}
	return "ld" + arg
}

// CheckRows panics unless dst and x are rows x cols.
func CheckRows(fn string, dst, x []float32, rows, cols int) {
	n := MulLen(fn, rows, cols)
	CheckLen(fn, "dst", len(dst), n, "rows*cols")
	CheckLen(fn, "x", len(x), n, "rows*cols")
}

// PanicSize and panicLen format the messages outside the checks, because the drivers inline only
// checks without formatting.

//go:noinline
func PanicSize(fn, name string, got int, want string) {
	panic(fmt.Sprintf("kernels.%s: %s = %d, %s", fn, name, got, want))
}

//go:noinline
func panicLen(fn, arg string, got, want int, expr string) {
	panic(fmt.Sprintf("kernels.%s: len(%s) = %d, want %d (%s)", fn, arg, got, want, expr))
}
