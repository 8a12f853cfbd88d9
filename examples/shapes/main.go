// Shapes walks through multi-head attention and prints the shape of every step, for 64 sequences of
// 10 rows, width 512 and 8 heads:
//
//	$ go run ./examples/shapes
//
// It computes the attention twice: step by step with the kernels, as a tutorial would, and with one
// call of package transformer, which does the same without copies between the steps. The results
// agree.
package main

import (
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

const (
	batch  = 64
	length = 10
	dim    = 512
	heads  = 8
	headD  = dim / heads
	rows   = batch * length
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	attention, err := transformer.NewMultiHeadAttention(transformer.AttentionConfig{
		Dim: dim, Heads: heads, Bias: true, OutBias: true,
		CrossOnly: true, // keeps the three projections apart, for the steps below
	}, transformer.AttentionNames{
		Query: "linear_query.", Key: "linear_key.", Value: "linear_value.", Out: "linear_out.",
	}, transformer.Random(1), "")
	if err != nil {
		return err
	}
	x := make([]float32, rows*dim)
	for i := range x {
		x[i] = float32(math.Sin(float64(i) * 0.37))
	}
	ws := new(transformer.Workspace)

	fmt.Fprintln(w, "input                        ", []int{batch, length, dim})

	// 1. Project the rows to queries, keys and values.
	q, k, v := make([]float32, rows*dim), make([]float32, rows*dim), make([]float32, rows*dim)
	for _, p := range []struct {
		name string
		*transformer.Linear
		to []float32
	}{{"query", attention.Query, q}, {"key", attention.Key, k}, {"value", attention.Value, v}} {
		if err := p.Forward(ws, p.to, x); err != nil {
			return err
		}
		fmt.Fprintf(w, "%-5s after projection       %v\n", p.name, []int{batch, length, dim})
	}

	// 2. Split the width into heads. Nothing moves: row i of head h of a sequence
	// is headD elements at i*dim + h*headD, and kernels take the distance dim between rows as an
	// argument.
	fmt.Fprintln(w, "query, key, value, split     ", []int{batch, heads, length, headD})

	// 3. Scores: each query times each key, over the square root of the head's
	// size, so that they do not grow with it.
	scores := make([]float32, batch*heads*length*length)
	scale := float32(1 / math.Sqrt(headD))
	each(func(at, head int) {
		s := scores[head*length*length:]
		kernels.Gemm(kernels.NoTrans, kernels.Trans, length, length, headD, scale, q[at:], dim, k[at:], dim, 0, s, length)
	})
	fmt.Fprintln(w, "scores                       ", []int{batch, heads, length, length})

	// 4. Softmax turns each row of scores into a row of weights that add up to 1.
	kernels.Softmax(scores, scores, batch*heads*length, length)
	fmt.Fprintln(w, "attention weights            ", []int{batch, heads, length, length})

	// 5. Each query's result is the weighted sum of the values. It is written at the head's place
	// in the row, which concatenates the heads.
	context := make([]float32, rows*dim)
	each(func(at, head int) {
		s := scores[head*length*length:]
		kernels.Gemm(kernels.NoTrans, kernels.NoTrans, length, headD, length, 1, s, length, v[at:], dim, 0, context[at:], dim)
	})
	fmt.Fprintln(w, "output of the heads          ", []int{batch, heads, length, headD})
	fmt.Fprintln(w, "heads concatenated           ", []int{batch, length, dim})

	// 6. Project to the output.
	output := make([]float32, rows*dim)
	if err := attention.Out.Forward(ws, output, context); err != nil {
		return err
	}
	fmt.Fprintln(w, "output after projection      ", []int{batch, length, dim})

	// The same in one call.
	again := make([]float32, rows*dim)
	err = attention.Forward(ws, again, transformer.AttentionInput{
		Query: x, Batch: transformer.Uniform(batch, length),
		Key: x, KeyBatch: transformer.Uniform(batch, length),
	}, nil)
	if err != nil {
		return err
	}
	worst := 0.0
	for i, o := range output {
		worst = max(worst, math.Abs(float64(o-again[i])))
	}
	fmt.Fprintln(w, "\none call of package transformer agrees within 1e-5:", worst < 1e-5)
	return nil
}

// each calls f for every head. at is the offset of its first row, and head counts the heads of all
// sequences.
func each(f func(at, head int)) {
	for b := range batch {
		for h := range heads {
			f(b*length*dim+h*headD, b*heads+h)
		}
	}
}
