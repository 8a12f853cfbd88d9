package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/product"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has products with a packed B. The file pack.go packs B.

// GemmPacked computes C = act(alpha*A*B + beta*C + bias) + residual with a packed B. It is meant
// for weights, which are packed once and used many times.
//
// A is m x K and C is m x N, row-major with rows lda and ldc apart. C must not overlap A. If beta
// is 0, C is not read, unless it is also the residual. If alpha or K is 0, A and B are not read.
// The product runs on the tier that B was packed for.
func GemmPacked(m int, alpha float32, a []float32, lda int, b *PackedB, beta float32, c []float32, ldc int, ep Epilogue) {
	Threads(1).GemmPacked(m, alpha, a, lda, b, beta, c, ldc, ep)
}

// GemmPacked is the function GemmPacked on up to t threads.
func (t Threads) GemmPacked(m int, alpha float32, a []float32, lda int, b *PackedB, beta float32, c []float32, ldc int, ep Epilogue) {
	const fn = "GemmPacked"
	if b == nil {
		panic("kernels.GemmPacked: b is nil, want a matrix from PackB")
	}
	n := b.matrix.N
	if !mem.Holds(len(a), m, b.matrix.K, lda) || !mem.Holds(len(c), m, n, ldc) { // something is wrong or empty
		mem.CheckSize(fn, "m", m)
		mem.CheckMatrix(fn, "a", len(a), m, b.matrix.K, lda)
		mem.CheckMatrix(fn, "c", len(c), m, n, ldc)
	}
	if ep.Bias != nil {
		mem.CheckLen(fn, "ep.Bias", len(ep.Bias), n, "n")
	}
	if ep.Residual != nil {
		mem.CheckMatrix(fn, "ep.Residual", len(ep.Residual), m, n, ep.LdResidual)
	}
	if ep.Activation > ActReLU2 {
		mem.PanicSize(fn, "ep.Activation", int(ep.Activation), "want ActIdentity to ActReLU2")
	}
	var p product.PackedCall
	p.Set(m, alpha, a, lda, &b.matrix, beta, c, ldc)
	p.Finish(ep.Bias, product.Activation(ep.Activation), ep.Residual, ep.LdResidual)
	p.Run(int(t))
}

// Activation is the function that an Epilogue applies.
type Activation uint8

// The activations of an Epilogue.
const (
	ActIdentity Activation = iota // x
	ActReLU                       // max(x, 0)
	ActGELU                       // x*Phi(x), with erf
	ActGELUTanh                   // GELU's tanh approximation
	ActSiLU                       // x*sigmoid(x)
	ActTanh                       // tanh(x)
	ActReLU2                      // max(x, 0)^2
)

// Epilogue describes the operations on a finished part of C while the part is still in cache: C =
// Activation(C + Bias) + Residual. The zero Epilogue does nothing.
type Epilogue struct {
	Bias       []float32 // [n], added to every row; or nil
	Activation Activation
	Residual   []float32 // [m x n], rows LdResidual apart, added last; or nil. May be C itself.
	LdResidual int
}

// PackedB is a matrix op(B) in the order in which the inner loops of one tier read it, in one of
// several formats. It is immutable, keeps no reference to B, and is safe for concurrent use.
type PackedB struct{ matrix weights.Matrix }

// K returns the number of rows of op(B).
func (b *PackedB) K() int { return b.matrix.K }

// N returns the number of columns of op(B).
func (b *PackedB) N() int { return b.matrix.N }

// Format returns the format of the elements.
func (b *PackedB) Format() Format { return Format(b.matrix.Record.Format) }

// Bytes returns the memory that the packed elements take.
func (b *PackedB) Bytes() int { return len(b.matrix.Data) }

// Memory returns the packed elements, in an order that [PackedLayout] names. They must not be
// changed.
func (b *PackedB) Memory() []byte { return b.matrix.Data }

// Column sets dst, K elements, to column j of op(B), which is row j of B^T. The elements are those
// of the format, after its rounding.
func (b *PackedB) Column(dst []float32, j int) {
	if j < 0 || j >= b.matrix.N {
		mem.PanicSize("PackedB.Column", "j", j, fmt.Sprintf("want 0 to %d", b.matrix.N-1))
	}
	mem.CheckLen("PackedB.Column", "dst", len(dst), b.matrix.K, "K")
	b.matrix.Column(dst, j)
}
