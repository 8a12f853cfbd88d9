package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/product"
)

// This file has feed-forward networks of int8 in one call.

// FeedForwardParams are the arguments of FeedForward. Sizes are in elements.
type FeedForwardParams struct {
	Rows int
	X    []float32 // rows of Up.K() elements, LdX apart
	LdX  int
	// Gate, Up and Down are matrices of FormatInt8: D x H twice, and H x N. Without a gate, Gate is
	// nil.
	Gate, Up, Down *PackedB
	GateBias       []float32  // [H], or nil
	UpBias         []float32  // [H], or nil
	Activation     Activation // of the gate, or of Up without a gate
	DownBias       []float32  // [N], or nil
	Residual       []float32  // rows of N elements, LdResidual apart, added last; or nil. May be Dst itself.
	LdResidual     int
	Dst            []float32 // rows of N elements, LdDst apart; must not overlap X
	LdDst          int
}

// FeedForward computes the position-wise feed-forward network of an encoder (Vaswani et al., 2017),
// or with a gate its gated variant (Shazeer, 2020, "GLU Variants Improve Transformer"), with
// weights of FormatInt8:
//
//	Dst = Activation(X*Up + UpBias)*Down + DownBias + Residual
//	Dst = (Activation(X*Gate + GateBias) * (X*Up + UpBias))*Down + DownBias + Residual
//
// Results have the bits of [GemmPacked] for each product and [Mul] for the gate. Each thread takes
// bands of rows through all products: hidden values become integers while they are in its caches,
// and take no memory of the caller. With few rows for each thread GemmPacked is faster, because it
// divides columns among threads too.
func FeedForward(p FeedForwardParams) { Threads(1).FeedForward(p) }

// FeedForward is the function [FeedForward] on up to t threads.
func (t Threads) FeedForward(p FeedForwardParams) {
	p.check()
	if p.Rows == 0 {
		return
	}
	f := product.FeedForward{
		Rows: p.Rows, X: p.X, LdX: p.LdX, Up: &p.Up.matrix, Down: &p.Down.matrix, Dst: p.Dst, LdDst: p.LdDst,
		GateBias: p.GateBias, UpBias: p.UpBias, Activation: product.Activation(p.Activation),
		DownEnd: product.Epilogue{Bias: p.DownBias, Residual: p.Residual, LdResidual: p.LdResidual},
	}
	if p.Gate != nil {
		f.Gate = &p.Gate.matrix
	}
	f.Run(int(t))
}

func (p *FeedForwardParams) check() {
	const fn = "FeedForward"
	mem.CheckSize(fn, "Rows", p.Rows)
	checkNetwork(fn, "Up", p.Up)
	checkNetwork(fn, "Down", p.Down)
	d, h, n := p.Up.K(), p.Up.N(), p.Down.N()
	if p.Down.K() != h {
		mem.PanicSize(fn, "Down.K()", p.Down.K(), fmt.Sprintf("want %d (Up.N())", h))
	}
	if p.Gate != nil {
		checkNetwork(fn, "Gate", p.Gate)
		if p.Gate.K() != d || p.Gate.N() != h {
			panic(fmt.Sprintf("kernels.%s: Gate is %dx%d, want %dx%d as Up", fn, p.Gate.K(), p.Gate.N(), d, h))
		}
	}
	if p.Activation > ActReLU2 {
		mem.PanicSize(fn, "Activation", int(p.Activation), "want ActIdentity to ActReLU2")
	}
	for _, bias := range []struct {
		name string
		b    []float32
		n    int
	}{{"GateBias", p.GateBias, h}, {"UpBias", p.UpBias, h}, {"DownBias", p.DownBias, n}} {
		if bias.b != nil {
			mem.CheckLen(fn, bias.name, len(bias.b), bias.n, "the columns of its matrix")
		}
	}
	mem.CheckMatrix(fn, "X", len(p.X), p.Rows, d, p.LdX)
	mem.CheckMatrix(fn, "Dst", len(p.Dst), p.Rows, n, p.LdDst)
	if p.Residual != nil {
		mem.CheckMatrix(fn, "Residual", len(p.Residual), p.Rows, n, p.LdResidual)
	}
}

// checkNetwork panics unless b is a matrix of FormatInt8 that has elements.
func checkNetwork(fn, name string, b *PackedB) {
	if b == nil {
		panic(fmt.Sprintf("kernels.%s: %s is nil, want a matrix of int8", fn, name))
	}
	if f := b.Format(); f != FormatInt8 || b.K() == 0 || b.N() == 0 {
		panic(fmt.Sprintf("kernels.%s: %s is %dx%d of %v, want a matrix of int8 with elements", fn, name, b.K(), b.N(), f))
	}
}
