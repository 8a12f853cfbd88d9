package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has dot products of vectors whose elements are 1 or -1.

// SignPanel is the number of vectors in a panel of SignDots.
const SignPanel = simd.SignPanel

// maxSigns is the largest number of signs of a vector. Whole numbers up to twice as large are exact
// in float32.
const maxSigns = 1 << 23

// SignDotsParams are the arguments of SignDots. Sizes are in elements. A bit is 1 for a positive
// number. A vector has words = ceil(Dim/32) words of 32 bits, its first number in the lowest bit;
// bits beyond Dim are 0.
type SignDotsParams struct {
	M, N, Dim int // vectors of A; vectors of B, a multiple of SignPanel; numbers of a vector, at most 2^23
	// A has M vectors, interleaved: word w of vector i is A[w*LdA+i].
	A   []int32
	LdA int
	// B has panels of SignPanel interleaved vectors: word w of vector j is B[(j/SignPanel*words +
	// w)*SignPanel + j%SignPanel].
	B   []int32
	C   []float32 // M rows of N elements, LdC apart; must not overlap A or B
	LdC int
}

// SignDots sets C[i*LdC+j] to the dot product of vector i of A and vector j of B, whose numbers are
// 1 and -1: Dim minus twice the number of bits that differ. The result is exact.
func SignDots(p SignDotsParams) { Threads(1).SignDots(p) }

// SignDots is the function [SignDots] on up to t threads.
func (t Threads) SignDots(p SignDotsParams) {
	const fn = "SignDots"
	mem.CheckSize(fn, "M", p.M)
	mem.CheckSize(fn, "N", p.N)
	if p.N%SignPanel != 0 {
		mem.PanicSize(fn, "N", p.N, fmt.Sprintf("want a multiple of %d", SignPanel))
	}
	if p.Dim < 1 || p.Dim > maxSigns {
		mem.PanicSize(fn, "Dim", p.Dim, fmt.Sprintf("want 1 to %d", maxSigns))
	}
	words := (p.Dim + 31) / 32
	mem.CheckMatrix(fn, "A", len(p.A), words, p.M, p.LdA)
	mem.CheckLen(fn, "B", len(p.B), mem.MulLen(fn, p.N, words), "N*words")
	mem.CheckMatrix(fn, "C", len(p.C), p.M, p.N, p.LdC)
	if p.M > 0 && p.N > 0 {
		row.SignDots(int(t), row.Signs{M: p.M, N: p.N, Dim: p.Dim, Words: words, A: p.A, LdA: p.LdA, B: p.B, C: p.C, LdC: p.LdC})
	}
}
