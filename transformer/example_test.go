package transformer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// must keeps the examples short: programs handle their errors.
func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Attention on matrices small enough to check by hand, without projections and without scaling.
func ExampleAttention() {
	query := []float32{1, 0, 2, 2, 2, 2, 2, 1, 3}
	key := []float32{0, 1, 1, 4, 4, 0, 2, 3, 1}
	value := []float32{1, 2, 3, 2, 8, 0, 2, 6, 3}

	a := transformer.Attention{Heads: 1, HeadDim: 3, Scale: 1}
	y := make([]float32, 9)
	scores, weights := make([]float32, 9), make([]float32, 9)
	must(a.Forward(new(transformer.Workspace), y, transformer.AttentionInput{
		Query: query, Batch: transformer.Uniform(1, 3),
		Key: key, Value: value, KeyBatch: transformer.Uniform(1, 3),
		Scores: scores, Weights: weights,
	}))
	fmt.Println("scores ", scores[:3])
	fmt.Printf("weights %.4f\n", weights[:3])
	fmt.Printf("output  %.4f\n", y[:3])
	// Output:
	// scores  [2 4 4]
	// weights [0.0634 0.4683 0.4683]
	// output  [1.9366 6.6831 1.5951]
}

// Multi-head attention with a mask of visible keys, on the sizes of the paper: width 512, 8 heads,
// 64 sequences of 10 rows. Trace tells the shape of each step.
func ExampleMultiHeadAttention() {
	const batch, length, dim, heads = 64, 10, 512, 8
	a, err := transformer.NewMultiHeadAttention(
		transformer.AttentionConfig{Dim: dim, Heads: heads, Bias: true, OutBias: true},
		transformer.AttentionNames{Query: "linear_query.", Key: "linear_key.", Value: "linear_value.", Out: "linear_out."},
		transformer.Random(1), "") // or the weights of a trained model
	must(err)

	ws := new(transformer.Workspace)
	ws.Trace = func(name string, _ []float32, shape ...int) { fmt.Println(name, shape) }
	x := make([]float32, batch*length*dim)
	y := make([]float32, len(x))
	weights := make([]float32, batch*heads*length*length)
	must(a.Forward(ws, y, transformer.AttentionInput{
		Query: x, Batch: transformer.Uniform(batch, length),
		Mask: transformer.Causal(), Weights: weights,
	}, nil))
	// All rows of x are equal here, so each attends alike to those it sees.
	fmt.Printf("row 3 of head 0 attends with %.2f\n", weights[3*length:4*length])
	// Output:
	// query [64 10 512]
	// key [64 10 512]
	// value [64 10 512]
	// weights [64 8 10 10]
	// context [64 10 512]
	// row 3 of head 0 attends with [0.25 0.25 0.25 0.25 0.00 0.00 0.00 0.00 0.00 0.00]
}

// Normalization over the last two axes, as d2l's AddNorm may have it.
func ExampleNorm() {
	n := transformer.NormConfig{Shape: []int{2, 3}, Eps: 1e-5}
	norm, err := transformer.NewNorm(n, transformer.TensorMap{
		"ln.weight": {Shape: []int{2, 3}, Data: []float32{1, 1, 1, 1, 1, 1}},
		"ln.bias":   {Shape: []int{2, 3}, Data: make([]float32, 6)},
	}, "ln.")
	must(err)
	x := []float32{1, 2, 3, 4, 5, 6}
	must(norm.Forward(new(transformer.Workspace), x, x))
	fmt.Printf("%.3f\n", x)
	// Output:
	// [-1.464 -0.878 -0.293 0.293 0.878 1.464]
}

// The positions of the original transformer. A width may be odd.
func ExampleSinusoidal() {
	const length, dim = 3, 5
	table := transformer.Sinusoidal(length, dim)
	for p := range length {
		fmt.Printf("%.4f\n", table[p*dim:(p+1)*dim])
	}
	// Output:
	// [0.0000 1.0000 0.0000 1.0000 0.0000]
	// [0.8415 0.5403 0.0251 0.9997 0.0006]
	// [0.9093 -0.4161 0.0502 0.9987 0.0013]
}

// A self-attention module whose window keeps cost and memory independent of the length of the
// sequence.
func ExampleSlidingWindow() {
	a, err := transformer.NewMultiHeadAttention(
		transformer.AttentionConfig{Dim: 64, Heads: 4, Bias: true, OutBias: true},
		transformer.AttentionNames{Query: "W_Q.", Key: "W_K.", Value: "W_V.", Out: "output_layer."},
		transformer.Random(1), "")
	must(err)
	const length = 1000
	x := make([]float32, length*64)
	for i := range x {
		x[i] = float32(i%97) / 97
	}
	y := make([]float32, len(x))
	ws := new(transformer.Workspace)
	must(a.Forward(ws, y, transformer.AttentionInput{Query: x, Batch: transformer.Uniform(1, length), Mask: transformer.SlidingWindow(16)}, nil))

	// The last row sees 16 rows only: the same without the others.
	last := make([]float32, 16*64)
	must(a.Forward(ws, last, transformer.AttentionInput{Query: x[(length-16)*64:], Batch: transformer.Uniform(1, 16), Mask: transformer.Causal()}, nil))
	worst := float32(0)
	for i, v := range last[15*64:] {
		worst = max(worst, v-y[(length-1)*64+i], y[(length-1)*64+i]-v)
	}
	fmt.Println("largest difference below 1e-5:", worst < 1e-5)
	// Output:
	// largest difference below 1e-5: true
}

// An error of loading lists all that is wrong, and matches what it lists.
func ExampleLoadError() {
	_, err := transformer.NewNorm(transformer.NormConfig{Shape: []int{3}, Eps: 1e-5}, transformer.TensorMap{
		"norm.weight": {Shape: []int{2}, Data: []float32{1, 1}},
		"norm.gamma":  {Shape: []int{3}, Data: []float32{1, 1, 1}},
	}, "norm.")
	fmt.Println(err)
	fmt.Println(errors.Is(err, fault.ErrMissing), errors.Is(err, fault.ErrMisshapen), errors.Is(err, fault.ErrLeftOver))
	// Output:
	// weights do not fit the model: 1 missing: norm.bias; 1 misshapen: norm.weight has shape [2], want [3]; 1 left over: norm.gamma
	// true true true
}

// A batch of different lengths has no padding to pay for, or to mask.
func ExampleRagged() {
	b := transformer.Ragged(10, 40, 100)
	fmt.Println(b.Rows(), "rows instead of", b.Len()*b.MaxLength())
	fmt.Println("sequence 1 has rows", b.Start(1), "to", b.Start(2)-1)
	// Output:
	// 150 rows instead of 300
	// sequence 1 has rows 10 to 49
}

// Each mask on equal scores: what the last of four queries gives each key. ALiBi and AdditiveMask
// add to scores, the others hide keys.
func ExampleMask() {
	const n = 4
	alike := []bool{true, false, false, true}
	for _, c := range []struct {
		name string
		mask *transformer.Mask
	}{
		{"Causal", transformer.Causal()},
		{"SlidingWindow", transformer.SlidingWindow(2)},
		{"LocalWindow", transformer.LocalWindow(1, 0)},
		{"KeepMask", transformer.KeepMask(alike, 1, 1, 1, n)},
		{"BlockMask", transformer.BlockMask(alike, 1, 1, 1, n)},
		{"AdditiveMask", transformer.AdditiveMask([]float32{0, 0, 0, 1}, 1, 1, 1, n)},
		{"ValidLengths", transformer.ValidLengths(2)},
		{"PerQuery", transformer.ValidLengthsPerQuery([]int{1, 1, 1, 3}, n)},
		{"ALiBi", transformer.ALiBi(transformer.ALiBiSlopes(8)[0])},
	} {
		weights := make([]float32, n*n)
		must(transformer.Attention{Heads: 1, HeadDim: 1}.Forward(new(transformer.Workspace), make([]float32, n), transformer.AttentionInput{
			Query: make([]float32, n), Batch: transformer.Uniform(1, n), Mask: c.mask, Weights: weights,
		}))
		fmt.Printf("%-13s %.2f\n", c.name, weights[3*n:])
	}
	// Output:
	// Causal        [0.25 0.25 0.25 0.25]
	// SlidingWindow [0.00 0.00 0.50 0.50]
	// LocalWindow   [0.00 0.00 0.50 0.50]
	// KeepMask      [0.50 0.00 0.00 0.50]
	// BlockMask     [0.00 0.50 0.50 0.00]
	// AdditiveMask  [0.17 0.17 0.17 0.48]
	// ValidLengths  [0.50 0.50 0.00 0.00]
	// PerQuery      [0.33 0.33 0.33 0.00]
	// ALiBi         [0.10 0.17 0.28 0.46]
}

func ExampleNewLinear() {
	l, err := transformer.NewLinear(2, 3, []float32{1, 0, 0, 1, 1, 1}, []float32{0, 0, 10})
	must(err)
	y := make([]float32, 2*3)
	must(l.Forward(new(transformer.Workspace), y, []float32{1, 2, 3, 4}))
	fmt.Println(y[:3], y[3:])
	// Output: [1 2 13] [3 4 17]
}

func ExampleNewEmbedding() {
	e, err := transformer.NewEmbedding(3, 2, []float32{0, 1, 10, 11, 20, 21})
	must(err)
	y := make([]float32, 2*2)
	must(e.Forward(new(transformer.Workspace), y, []int{2, 0}))
	fmt.Println(y)
	fmt.Println(errors.Is(e.Forward(new(transformer.Workspace), y, []int{2, 3}), fault.ErrToken))
	// Output:
	// [20 21 0 1]
	// true
}

func ExampleActivate() {
	x := []float32{-1, 0, 2}
	transformer.Activate(1, kernels.ActReLU, x)
	fmt.Println(x)
	// Output: [0 0 2]
}

func ExampleNewFeedForward() {
	f, err := transformer.NewFeedForward(
		transformer.FeedForwardConfig{Dim: 2, Hidden: 3, Activation: kernels.ActReLU},
		transformer.FeedForwardNames{Up: "up.", Down: "down."},
		transformer.TensorMap{
			"mlp.up.weight":   {Shape: []int{3, 2}, Data: []float32{1, 0, 0, 1, -1, -1}},
			"mlp.down.weight": {Shape: []int{2, 3}, Data: []float32{1, 1, 1, 2, 2, 2}},
		}, "mlp.")
	must(err)
	y := make([]float32, 2)
	must(f.Forward(new(transformer.Workspace), y, []float32{3, -5}, nil))
	fmt.Println(y)
	// Output: [5 10]
}

// Rotary positions turn pairs of features by angles that grow with the position.
func ExampleNewRotary() {
	r, err := transformer.NewRotary(transformer.RotaryConfig{Pairing: transformer.PairHalves, Frequencies: transformer.Frequencies(10000, 4)}, 4)
	must(err)
	for _, position := range []int{0, 1, 100} {
		x := []float32{1, 1, 0, 0} // the pairs (x[0], x[2]) and (x[1], x[3])
		must(r.Apply(x, 4, position))
		fmt.Printf("%.3f\n", x)
	}
	// Output:
	// [1.000 1.000 0.000 0.000]
	// [0.540 1.000 0.841 0.010]
	// [0.862 0.540 -0.506 0.841]
}

// decoder returns a small stack with made-up weights.
func decoder() *transformer.Stack {
	s, err := transformer.NewStack(transformer.StackConfig{Layers: 2, Layer: transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: 16, Heads: 2},
		FeedForward: transformer.FeedForwardConfig{Dim: 16, Hidden: 32, Activation: kernels.ActGELU},
		Norm:        transformer.NormConfig{Eps: 1e-5}, NormFirst: true,
	}}, transformer.StackNames{Layers: "h.%d.", Layer: transformer.LayerNames{
		Self: "attn.", SelfNorm: "ln_1.", FeedNorm: "ln_2.",
		Attention: transformer.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o."},
		Feed:      transformer.FeedForwardNames{Up: "up.", Down: "down."},
	}}, transformer.Random(1), "")
	must(err)
	return s
}

// worst returns the largest difference.
func worst(x, y []float32) (d float32) {
	for i := range x {
		d = max(d, x[i]-y[i], y[i]-x[i])
	}
	return d
}

// With a cache, rows that come one by one get what all of them get at once.
func ExampleNewStack() {
	s, ws := decoder(), new(transformer.Workspace)
	const n = 5
	x := make([]float32, n*s.Dim)
	for i := range x {
		x[i] = float32(i*i%7) - 3
	}
	once := make([]float32, len(x))
	must(s.Forward(ws, once, transformer.LayerInput{X: x, Batch: transformer.Uniform(1, n), Mask: transformer.Causal()}, nil))

	cache, each := transformer.NewCache(1), make([]float32, len(x))
	for i := range n {
		from, to := i*s.Dim, (i+1)*s.Dim
		must(s.Forward(ws, each[from:to], transformer.LayerInput{X: x[from:to], Batch: transformer.Uniform(1, 1)}, cache))
	}
	fmt.Println(cache.Len(0), "rows; differences below 1e-5:", worst(once, each) < 1e-5)
	// Output: 5 rows; differences below 1e-5: true
}

// Two texts that begin alike share the pages of the beginning.
func ExampleNewPages() {
	s, ws := decoder(), new(transformer.Workspace)
	pages, err := transformer.NewPages(transformer.PagesConfig{Rows: 4})
	must(err)
	pass := func(cache *transformer.Cache, rows int) {
		x := make([]float32, rows*s.Dim)
		must(s.Forward(ws, x, transformer.LayerInput{X: x, Batch: transformer.Uniform(1, rows), Mask: transformer.Causal()}, cache))
	}
	first := pages.New()
	pass(transformer.NewCacheOf(first), 8)
	alone := pages.Used()
	second, err := first.Fork(8)
	must(err)
	fmt.Println(second.Len(), "rows, no more memory:", pages.Used() == alone)
	pass(transformer.NewCacheOf(second), 1)
	fmt.Println(first.Len(), "and", second.Len(), "rows, half as much more:", pages.Used() == alone*3/2)
	// Output:
	// 8 rows, no more memory: true
	// 8 and 9 rows, half as much more: true
}

func ExampleNewLayer() {
	l, err := transformer.NewLayer(transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: 16, Heads: 2, Bias: true, OutBias: true},
		FeedForward: transformer.FeedForwardConfig{Dim: 16, Hidden: 64, Activation: kernels.ActGELU, Bias: true},
		Norm:        transformer.NormConfig{Eps: 1e-12},
	}, transformer.LayerNames{ // as BERT calls them
		Self: "attention.", SelfNorm: "attention.output.LayerNorm.", FeedNorm: "output.LayerNorm.",
		Attention: transformer.AttentionNames{Query: "self.query.", Key: "self.key.", Value: "self.value.", Out: "output.dense."},
		Feed:      transformer.FeedForwardNames{Up: "intermediate.dense.", Down: "output.dense."},
	}, transformer.Random(1), "encoder.layer.0.")
	must(err)
	batch := transformer.Ragged(3, 5) // two sequences, without padding
	y := make([]float32, batch.Rows()*l.Dim)
	must(l.Forward(new(transformer.Workspace), y, transformer.LayerInput{X: make([]float32, len(y)), Batch: batch}, nil))
	fmt.Println(len(y)/l.Dim, "rows of", l.Dim)
	// Output: 8 rows of 16
}

// A loader hands out the tensors of a file and says what is missing or left over. Parts that are
// not wanted are hidden.
func ExampleNewLoader() {
	var file bytes.Buffer
	must(safetensors.Write(&file, map[string]safetensors.Tensor{
		"model.norm.weight":  {Shape: []int{2}, Data: []float32{1, 2}},
		"model.dense.weight": {Shape: []int{3, 2}, Data: make([]float32, 6)},
		"optimizer.step":     {Shape: []int{1}, Data: []float32{7}},
	}, nil))
	f, err := safetensors.Parse(file.Bytes()) // or safetensors.Open(path)
	must(err)

	weights := transformer.Hide(transformer.FromSafetensors(f), "optimizer.*")
	config := transformer.NormConfig{Shape: []int{2}, Eps: 1e-6, RMS: true}
	l := transformer.NewLoader(weights).At("model.")
	l.At("norm.").Norm(config)
	fmt.Println(l.Finish())

	l = transformer.NewLoader(weights).At("model.")
	norm, dense := l.At("norm.").Norm(config), l.At("dense.").Linear(2, 3, false)
	must(l.Finish())
	fmt.Println(norm.Weight, dense.Out)
	// Output:
	// weights do not fit the model: 1 left over: model.dense.weight
	// [1 2] 3
}

// Finish keeps packed weights in a file of a folder, and takes them from there.
func ExampleReadyNote() {
	dir, err := os.MkdirTemp("", "ready")
	must(err)
	defer os.RemoveAll(dir)
	weights := transformer.TensorMap{"dense.weight": {Shape: []int{3, 2}, Data: make([]float32, 6)}}
	for range 2 {
		r := &transformer.Ready{Dir: dir, Source: "release 7", Note: "made by an example"}
		l := transformer.NewLoader(weights)
		l.Ready(r)
		l.At("dense.").Linear(2, 3, false)
		must(l.Finish())
		note, err := transformer.ReadyNote(r.Path)
		must(err)
		fmt.Println(r.Hit, note)
	}
	// Output:
	// false made by an example
	// true made by an example
}

// A GGUF file is a source of weights as a safetensors file is.
func ExampleFromGGUF() {
	var file bytes.Buffer
	must(gguf.Write(&file, nil, []gguf.Tensor{{Name: "output_norm.weight", Info: gguf.Info{Type: gguf.F32, Shape: []int{1}}, Data: func(w io.Writer) error {
		_, err := w.Write([]byte{0, 0, 0x80, 0x3f}) // 1
		return err
	}}}))
	f, err := gguf.Parse(file.Bytes()) // or gguf.Open(path)
	must(err)
	norm, err := transformer.NewNorm(transformer.NormConfig{Shape: []int{1}, Eps: 1e-6, RMS: true}, transformer.FromGGUF(f), "output_norm.")
	must(err)
	fmt.Println(norm.Weight)
	// Output: [1]
}

// The example opens a file of torch.save. Nothing in the file is executed.
func ExampleFromPyTorch() {
	f, err := pytorch.Open("pytorch/testdata/zip.bin")
	must(err)
	defer f.Close()
	weights := transformer.FromPyTorch(f)
	shape, ok := weights.Shape(f.Names()[0])
	fmt.Println(len(weights.Names()) == len(f.Names()), len(shape) > 0, ok)
	// Output: true true true
}
