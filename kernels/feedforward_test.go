package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// network returns a feed-forward network with random weights, and its arguments.
func network(r *rand.Rand, rows, d, h, n int, gated, rest bool) FeedForwardParams {
	pack := func(n, k int) *PackedB {
		w := randomSlice(r, n*k)
		return PackBRows(FormatInt8, n, k, func(j int, dst []float32) { copy(dst, w[j*k:]) })
	}
	p := FeedForwardParams{
		Rows: rows, LdX: d + 3, X: randomSlice(r, rows*(d+3)), Up: pack(h, d), Down: pack(n, h),
		Activation: ActGELU, LdDst: n + 1, Dst: make([]float32, rows*(n+1)),
	}
	if gated {
		p.Gate, p.GateBias = pack(h, d), randomSlice(r, h)
	}
	if rest {
		p.UpBias, p.DownBias = randomSlice(r, h), randomSlice(r, n)
		p.LdResidual, p.Residual = n+2, randomSlice(r, rows*(n+2))
	}
	return p
}

// products computes the network with GemmPacked and Mul.
func (p FeedForwardParams) products() []float32 {
	h := p.Up.N()
	up, dst := make([]float32, p.Rows*h), make([]float32, len(p.Dst))
	ep := Epilogue{Bias: p.UpBias, Activation: p.Activation}
	if p.Gate != nil {
		ep.Activation = ActIdentity
	}
	GemmPacked(p.Rows, 1, p.X, p.LdX, p.Up, 0, up, h, ep)
	if p.Gate != nil {
		gate := make([]float32, len(up))
		GemmPacked(p.Rows, 1, p.X, p.LdX, p.Gate, 0, gate, h, Epilogue{Bias: p.GateBias, Activation: p.Activation})
		Mul(up, up, gate)
	}
	GemmPacked(p.Rows, 1, up, h, p.Down, 0, dst, p.LdDst, Epilogue{Bias: p.DownBias, Residual: p.Residual, LdResidual: p.LdResidual})
	return dst
}

// TestFeedForward expects the bits of consecutive products, for any number of threads and of rows
// at a time, with a gate that has the balance of the other matrix or its own.
func TestFeedForward(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	eachConfiguration(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(51, 52))
		for _, s := range []struct{ rows, d, h, n int }{{1, 1, 1, 1}, {33, 40, 100, 24}, {70, 128, 31, 65}, {140, 32, 64, 33}, {600, 33, 20, 9}} {
			for _, gated := range []bool{false, true} {
				p := network(r, s.rows, s.d, s.h, s.n, gated, s.rows != 70)
				for _, shared := range []bool{false, true} {
					if shared {
						if !gated {
							continue
						}
						p.Gate = p.Up
					}
					want := p.products()
					for _, threads := range []Threads{1, 2, 3} {
						clear(p.Dst)
						threads.FeedForward(p)
						if !slices.Equal(p.Dst, want) {
							t.Errorf("%v, gate %t, one balance %t, %d threads: not the bits of GemmPacked", s, gated, shared, threads)
						}
					}
					size := tune.Used.Gemm
					tune.Used.Gemm.Int8Rows, tune.Used.Gemm.TileRows, tune.Used.Gemm.WinogradRows = 17, 1, 1
					clear(p.Dst)
					FeedForward(p)
					tune.Used.Gemm = size
					if !slices.Equal(p.Dst, want) {
						t.Errorf("%v, gate %t, one balance %t, few rows in turn: not the bits of GemmPacked", s, gated, shared)
					}
				}
			}
		}
		if !testenv.Emulated() { // hidden rows of two stretches
			p := network(r, 19, 1, simd.Int8Stretch+40, 2, false, false)
			p.Activation = ActReLU
			want, size := p.products(), tune.Used.Gemm
			tune.Used.Gemm.Int8Rows = 7
			FeedForward(p)
			tune.Used.Gemm = size
			if !slices.Equal(p.Dst, want) {
				t.Error("long hidden rows: not the bits of GemmPacked")
			}
		}
		p := network(r, 5, 32, 64, 16, false, true)
		p.LdResidual, p.Residual = p.LdDst, randomSlice(r, len(p.Dst))
		want := p.products()
		copy(p.Dst, p.Residual)
		p.Residual = p.Dst
		if FeedForward(p); !slices.Equal(p.Dst[:p.Down.N()], want[:p.Down.N()]) {
			t.Error("a residual that is Dst changes the result")
		}
	})
}

// feedForwardAPI returns FeedForward with wrong values for its arguments.
func feedForwardAPI(threads Threads, size apiSize, data func(n int) []float32) []call {
	rows, d, h, n := size.m, size.k, size.width, size.k+1
	pack := func(f Format, n, k int) *PackedB {
		w := data(n * k)
		return PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, w[j*k:]) })
	}
	right := FeedForwardParams{
		Rows: rows, X: data(rows * d), LdX: d, Gate: pack(FormatInt8, h, d), Up: pack(FormatInt8, h, d), Down: pack(FormatInt8, n, h), Activation: ActSiLU,
		GateBias: data(h), UpBias: data(h), DownBias: data(n), Residual: data(rows * n), LdResidual: n, Dst: data(rows * n), LdDst: n,
	}
	return []call{call{fn: FeedForward, name: "FeedForward", args: []any{right}, params: "p", bad: fields(right, cat(sized("Rows"), []badArg{
		{"X", zeros(rows*d - 1), fmt.Sprintf("len(X) = %d, want at least (%d-1)*%d+%d", rows*d-1, rows, d, d)},
		{"Dst", zeros(rows*n - 1), fmt.Sprintf("len(Dst) = %d, want at least (%d-1)*%d+%d", rows*n-1, rows, n, n)},
		{"Residual", zeros(rows*n - 1), fmt.Sprintf("len(Residual) = %d, want at least (%d-1)*%d+%d", rows*n-1, rows, n, n)},
		{"LdX", d - 1, fmt.Sprintf("LdX = %d, want at least %d", d-1, d)},
		{"LdDst", n - 1, fmt.Sprintf("LdDst = %d, want at least %d", n-1, n)},
		{"LdResidual", n - 1, fmt.Sprintf("LdResidual = %d, want at least %d", n-1, n)},
		{"Up", (*PackedB)(nil), "Up is nil"},
		{"Down", (*PackedB)(nil), "Down is nil"},
		{"Up", pack(FormatQ8_0, h, d), "of q8_0, want a matrix of int8"},
		{"Gate", pack(FormatInt8, h, 0), fmt.Sprintf("Gate is 0x%d of int8, want a matrix of int8 with elements", h)},
		{"Gate", pack(FormatInt8, h+1, d), fmt.Sprintf("Gate is %dx%d, want %dx%d as Up", d, h+1, d, h)},
		{"Down", pack(FormatInt8, n, h+1), fmt.Sprintf("Down.K() = %d, want %d (Up.N())", h+1, h)},
		{"GateBias", zeros(h - 1), fmt.Sprintf("len(GateBias) = %d, want %d", h-1, h)},
		{"UpBias", zeros(h + 1), fmt.Sprintf("len(UpBias) = %d, want %d", h+1, h)},
		{"DownBias", zeros(n - 1), fmt.Sprintf("len(DownBias) = %d, want %d", n-1, n)},
		{"Activation", ActReLU2 + 1, "Activation = 7, want ActIdentity to ActReLU2"},
	}))}.onThreads(threads)}
}
