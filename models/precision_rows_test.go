package models_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/ref"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// A roundedEncoder computes what the encoder of encoderConfig does, in float32, from operands of
// the linear layers that were rounded to 8 bits before: weights with a scale for each output,
// activations with one for each block of a row, both rotated or as they are, and balanced before or
// not. It shows what each of these is for.
type roundedEncoder struct {
	testing.TB
	weights     transformer.Weights
	dim, layers int
	block       int // of activations; a row is whole blocks
	rotated     bool
	balanced    bool
}

func (e roundedEncoder) tensor(name string, shape ...int) []float32 {
	return tftest.Must(e.weights.Tensor("bert."+name, shape...))(e)
}

// roundInt8 rounds x to integers of up to 127 times a scale for each block.
func roundInt8(x []float32, block int) {
	for ; len(x) > 0; x = x[block:] {
		largest := 0.0
		for _, v := range x[:block] {
			largest = max(largest, math.Abs(float64(v)))
		}
		for i, v := range x[:block] {
			x[i] = float32(math.RoundToEven(float64(v)*127/largest) * largest / 127)
		}
	}
}

// linear is x*Wᵀ + b, [rows, out], for x [rows, in] and the weights of a name. It rounds x.
func (e roundedEncoder) linear(x []float32, in, out int, name string, activation kernels.Activation) []float32 {
	w, rows := e.tensor(name+".weight", out, in), len(x)/in
	scale := float32(1)
	if e.rotated { // a row is whole blocks of 128, and stays as long as it is
		var ofA, ofB []float32
		if e.balanced {
			ofA, ofB = e.balance(in, out, name)
		}
		w, x, scale = rotateRows(w, in, ofB), rotateRows(x, in, ofA), 128
	}
	roundInt8(w, in)
	roundInt8(x, min(e.block, in))
	y := make([]float32, rows*out)
	kernels.Threads(2).GemmPacked(rows, scale, x, in, kernels.PackB(kernels.Trans, out, in, w, in), 0, y, out,
		kernels.Epilogue{Bias: e.tensor(name+".bias", out), Activation: activation})
	return y
}

// balance is by the weights of a name, or of values for those of queries and keys, to which values
// belong in one matrix.
func (e roundedEncoder) balance(in, out int, name string) (ofA, ofB []float32) {
	for _, part := range []string{"query", "key"} {
		name = strings.Replace(name, "self."+part, "self.value", 1)
	}
	w, columns := e.tensor(name+".weight", out, in), make([]float32, in*out)
	for j := range out {
		for p := range in {
			columns[p*out+j] = w[j*in+p]
		}
	}
	return ref.BalanceInt8(out, in, columns, out)
}

// rotateRows rotates rows of n elements.
func rotateRows(x []float32, n int, balance []float32) (rotated []float32) {
	for ; len(x) > 0; x = x[n:] {
		rotated = append(rotated, ref.Rotate(x[:n], balance)...)
	}
	return rotated
}

// norm sets x to the layer normalization of x + residual, which may be nil, [rows, dim] both.
func (e roundedEncoder) norm(x, residual []float32, name string) {
	if residual != nil {
		kernels.Add(x, x, residual)
	}
	kernels.LayerNorm(x, x, len(x)/e.dim, e.dim, e.tensor(name+".weight", e.dim), e.tensor(name+".bias", e.dim), 1e-12)
}

// rows returns the last layer's, [rows, dim].
func (e roundedEncoder) rows(in models.Tokens) []float32 {
	dim := e.dim
	var x []float32 // [rows, dim]
	words, positions := e.tensor("embeddings.word_embeddings.weight", 1000, dim), e.tensor("embeddings.position_embeddings.weight", 128, dim)
	types := e.tensor("embeddings.token_type_embeddings.weight", 2, dim)
	for i := range in.Batch.Len() {
		for r := in.Batch.Start(i); r < in.Batch.Start(i+1); r++ {
			for d := range dim {
				x = append(x, words[in.IDs[r]*dim+d]+positions[(r-in.Batch.Start(i))*dim+d]+types[d])
			}
		}
	}
	e.norm(x, nil, "embeddings.LayerNorm")
	copied := func(x []float32) []float32 { return append([]float32(nil), x...) }
	for l := range e.layers {
		at := fmt.Sprintf("encoder.layer.%d.", l)
		q := e.linear(copied(x), dim, dim, at+"attention.self.query", kernels.ActIdentity) // [rows, dim]
		k := e.linear(copied(x), dim, dim, at+"attention.self.key", kernels.ActIdentity)   // [rows, dim]
		v := e.linear(copied(x), dim, dim, at+"attention.self.value", kernels.ActIdentity) // [rows, dim]
		heads := make([]float32, len(x))                                                   // [rows, dim]
		for i := range in.Batch.Len() {
			n, from, to := in.Batch.Length(i), in.Batch.Start(i)*dim, in.Batch.Start(i+1)*dim
			lie := kernels.BLHD(n, dim, 32)
			kernels.Attention(kernels.AttentionParams{
				Batch: 1, Heads: dim / 32, LenQ: n, LenK: n, HeadDim: 32,
				Dst: heads[from:to], Q: q[from:to], K: k[from:to], V: v[from:to], DstStrides: lie, QStrides: lie, KStrides: lie, VStrides: lie,
			})
		}
		y := e.linear(heads, dim, dim, at+"attention.output.dense", kernels.ActIdentity) // [rows, dim]
		e.norm(y, x, at+"attention.output.LayerNorm")
		hidden := e.linear(copied(y), dim, 4*dim, at+"intermediate.dense", kernels.ActGELU) // [rows, 4*dim]
		x = e.linear(hidden, 4*dim, dim, at+"output.dense", kernels.ActIdentity)            // [rows, dim]
		e.norm(x, y, at+"output.LayerNorm")
	}
	return x
}

// testRoundedRows says how far embeddings are from those of float32 where activations are not
// balanced, have a scale for each block of a row, or are not rotated, and that the same computation
// balanced and rotated, with a scale a row, gives those of FormatInt8.
func testRoundedRows(t *testing.T, weights transformer.Weights, dim, layers int, in models.Tokens, want, wantRows, int8s []float32) {
	off := func(what string, block int, rotated, balanced bool) float64 {
		rows := roundedEncoder{t, weights, dim, layers, block, rotated, balanced}.rows(in)
		got := means(rows, dim, in.Batch)
		t.Logf("%s: worst cosine of %d sentences %.6f, of a token %.6f", what, in.Batch.Len(), worstCosine(got, want, dim), worstCosine(rows, wantRows, dim))
		mean := 0.0 // of all, since the worst one hangs on few integers
		for i := 0; i < len(got); i += dim {
			mean += (1 - worstCosine(got[i:][:dim], int8s[i:][:dim], dim)) / float64(in.Batch.Len())
		}
		return mean
	}
	same := off("balanced and rotated, a scale a row", math.MaxInt, true, true)
	row := off("rotated, a scale a row", math.MaxInt, true, false)
	blocks := off("balanced and rotated, blocks of 128", 128, true, true)
	plain := off("as they are, a scale a row", math.MaxInt, false, false)
	off("rotated, blocks of 128", 128, true, false)
	off("as they are, blocks of 128", 128, false, false)
	t.Logf("from FormatInt8 they are off by %.3g, %.3g, %.3g and %.3g of the mean cosine", same, row, blocks, plain)
	// Sums in another order round to other integers here and there.
	if !(same <= min(row, plain)/5) {
		t.Errorf("from FormatInt8 what it does is off by %.3g of the mean cosine, without the balance by %.3g, as they are by %.3g", same, row, plain)
	}
}
