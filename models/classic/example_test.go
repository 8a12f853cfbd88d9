package classic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// check keeps the examples short: programs handle their errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Attention on matrices small enough to check by hand, without projections and
// without scaling.
func ExampleAttention() {
	query := []float32{1, 0, 2, 2, 2, 2, 2, 1, 3}
	key := []float32{0, 1, 1, 4, 4, 0, 2, 3, 1}
	value := []float32{1, 2, 3, 2, 8, 0, 2, 6, 3}

	a := transformer.Attention{Heads: 1, HeadDim: 3, Scale: 1}
	y := make([]float32, 9)
	scores, weights := make([]float32, 9), make([]float32, 9)
	check(a.Forward(new(transformer.Workspace), y, transformer.AttentionInput{
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

// Multi-head attention with a mask of visible keys, on the sizes of the paper:
// width 512, 8 heads, 64 sequences of 10 rows. Trace tells the shape of each
// step.
func ExampleMultiHeadAttention() {
	const batch, length, dim, heads = 64, 10, 512, 8
	a, err := transformer.NewMultiHeadAttention(
		transformer.AttentionConfig{Dim: dim, Heads: heads, Bias: true, OutBias: true},
		transformer.AttentionNames{Query: "linear_query.", Key: "linear_key.", Value: "linear_value.", Out: "linear_out."},
		transformer.Random(1), "") // or the weights of a trained model
	check(err)

	ws := new(transformer.Workspace)
	ws.Trace = func(name string, _ []float32, shape ...int) { fmt.Println(name, shape) }
	x := make([]float32, batch*length*dim)
	y := make([]float32, len(x))
	weights := make([]float32, batch*heads*length*length)
	check(a.Forward(ws, y, transformer.AttentionInput{
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

// A vision transformer: patches, class token, positions, blocks, head.
func ExampleViT() {
	v, err := classic.NewViT(classic.ViTConfig{
		Height: 32, Width: 32, PatchHeight: 8, PatchWidth: 8, Channels: 3,
		Dim: 48, Heads: 4, Layers: 2, FeedForward: 192,
		Activation: kernels.ActGELU, Eps: 1e-6, QKVBias: true, Classes: 10,
	}, transformer.Random(1), "") // timm's names
	check(err)
	ws := new(transformer.Workspace)
	images := make([]float32, 2*3*32*32)
	tokens := make([]float32, v.Batch(2).Rows()*v.Dim)
	logits := make([]float32, 2*10)
	check(v.Forward(ws, tokens, images))
	check(v.Classify(ws, logits, images))
	fmt.Println(v.Patches(), "patches and a class token in each of", v.Batch(2).Len(), "images:", v.Batch(2).Rows(), "rows of", v.Dim)
	fmt.Println(len(logits), "logits")
	// Output:
	// 16 patches and a class token in each of 2 images: 34 rows of 48
	// 20 logits
}

// BERT on two sentences of different length, without padding, with its
// attention maps.
func ExampleBERT() {
	b, err := classic.NewBERT(classic.BERTConfig{
		Vocab: 100, Types: 2, MaxPositions: 64, Dim: 48, Heads: 4, Layers: 2, FeedForward: 96,
		Activation: kernels.ActGELU, Eps: 1e-12, Pooler: true,
	}, transformer.Random(1), "") // Hugging Face's names
	check(err)
	in := classic.BERTInput{Tokens: []int{5, 17, 9 /**/, 5, 80, 33, 61, 9}}
	in.Batch = transformer.Ragged(3, 5)

	ws := new(transformer.Workspace)
	ws.Trace = func(name string, values []float32, shape ...int) {
		if name == "encoder.layer.1.attention.weights" {
			fmt.Println("attention weights of the last layer:", len(values), "= 4 heads * (3*3 + 5*5)")
		}
	}
	y := make([]float32, in.Batch.Rows()*b.Dim)
	pooled := make([]float32, in.Batch.Len()*b.Dim)
	check(b.Forward(ws, y, in, nil))
	check(b.Pool(ws, pooled, y, in.Batch))
	fmt.Println("output", len(y)/b.Dim, "rows, pooled", len(pooled)/b.Dim, "rows")
	// Output:
	// attention weights of the last layer: 136 = 4 heads * (3*3 + 5*5)
	// output 8 rows, pooled 2 rows
}

// The gradients of attention weights tell which of them a result depends on: a
// key that is attended to but whose value is not used gets none.
func ExampleAttentionBackward() {
	identity := safetensors.Tensor{Shape: []int{2, 2}, Data: []float32{1, 0, 0, 1}}
	a, err := transformer.NewMultiHeadAttention(transformer.AttentionConfig{Dim: 2, Heads: 1},
		transformer.AttentionNames{Query: "q.", Key: "k.", Value: "v."},
		transformer.TensorMap{"q.weight": identity, "k.weight": identity, "v.weight": identity}, "")
	check(err)
	in := transformer.AttentionInput{Query: []float32{3, 0, 0, 3, 1, 1}, Batch: transformer.Uniform(1, 3)}
	in.Weights = make([]float32, 9)
	ws, y := new(transformer.Workspace), make([]float32, 6)
	check(a.Forward(ws, y, in, nil))

	// The loss is column 1 of row 0 of the output.
	gradient := make([]float32, 9)
	check(classic.AttentionBackward(ws, a, classic.AttentionGradients{Weights: gradient}, in, []float32{0, 1, 0, 0, 0, 0}))
	fmt.Printf("row 0 attends with %.3f\n", in.Weights[:3])
	fmt.Println("gradient          ", gradient[:3])
	// Output:
	// row 0 attends with [0.984 0.002 0.014]
	// gradient           [0 3 1]
}

// A layer of BLIP's text decoder: BERT's layer with cross-attention to vision
// features of another width, causal among the text.
func ExampleLayer_crossModal() {
	c := classic.BERTConfig{
		Dim: 48, Heads: 4, FeedForward: 96, Activation: kernels.ActGELU, Eps: 1e-12,
		MemoryDim: 64, // the vision encoder's width
	}
	l, err := transformer.NewLayer(c.LayerConfig(), classic.BERTEncoder().Layer, transformer.Random(1), "")
	check(err)
	ws := new(transformer.Workspace)
	ws.Trace = func(name string, _ []float32, shape ...int) {
		if name == "attention.weights" || name == "crossattention.weights" {
			fmt.Println(name, shape)
		}
	}
	text, vision := transformer.Uniform(1, 4), transformer.Uniform(1, 17)
	x := make([]float32, text.Rows()*c.Dim) // "a picture of", say
	check(l.Forward(ws, x, transformer.LayerInput{
		X: x, Batch: text, Mask: transformer.Causal(),
		Memory: make([]float32, vision.Rows()*c.MemoryDim), MemoryBatch: vision,
	}, nil))
	// Output:
	// attention.weights [1 4 4 4]
	// crossattention.weights [1 4 4 17]
}

// d2l's encoder and decoder, with valid lengths and greedy prediction.
func ExampleD2LConfig() {
	m, err := classic.NewSeq2Seq(classic.Seq2SeqConfig{
		TransformerConfig: classic.D2LConfig{Dim: 32, Heads: 4, Layers: 2, FeedForward: 64, Bias: false}.Transformer(),
		SourceVocab:       40, TargetVocab: 37, MaxLen: 1000,
	}, classic.D2LSeq2Seq(), transformer.Random(1), "")
	check(err)
	ws := new(transformer.Workspace)
	source := []int{7, 3, 21, 2, 0, 0, 0, 0} // padded to 8
	mask := classic.D2LMask(4)               // of which 4 are real
	memory := models.Memory{Batch: transformer.Uniform(1, 8), Mask: mask, X: make([]float32, 8*32)}
	check(m.Encode(ws, memory.X, source, memory.Batch, mask))

	padded, err := generation.Collect(generation.Generate(context.Background(), generation.StartLM(ws, m.Decoder(), &memory, 1), []int{1}, generation.SamplerConfig{}, generation.Limits{MaxTokens: 9}))
	check(err)
	// The same without padding.
	memory = models.Memory{Batch: transformer.Uniform(1, 4), X: make([]float32, 4*32)}
	check(m.Encode(ws, memory.X, source[:4], memory.Batch, nil))
	tight, err := generation.Collect(generation.Generate(context.Background(), generation.StartLM(ws, m.Decoder(), &memory, 1), []int{1}, generation.SamplerConfig{}, generation.Limits{MaxTokens: 9}))
	check(err)
	fmt.Println(len(padded), "tokens; without padding the same:", fmt.Sprint(padded) == fmt.Sprint(tight))
	// Output:
	// 9 tokens; without padding the same: true
}

// Normalization over the last two axes, as d2l's AddNorm may have it.
func ExampleNorm() {
	n := transformer.NormConfig{Shape: []int{2, 3}, Eps: 1e-5}
	norm, err := transformer.NewNorm(n, transformer.TensorMap{
		"ln.weight": {Shape: []int{2, 3}, Data: []float32{1, 1, 1, 1, 1, 1}},
		"ln.bias":   {Shape: []int{2, 3}, Data: make([]float32, 6)},
	}, "ln.")
	check(err)
	x := []float32{1, 2, 3, 4, 5, 6}
	check(norm.Forward(new(transformer.Workspace), x, x))
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

// Keras' convention: 1 hides. A padding mask and a look-ahead mask are combined.
func ExampleKerasMask() {
	const length = 4
	padding := classic.KerasMask([]float32{0, 0, 0, 1}, 1, 1, 1, length)
	lookAhead := classic.KerasMask([]float32{
		0, 1, 1, 1,
		0, 0, 1, 1,
		0, 0, 0, 1,
		0, 0, 0, 0,
	}, 1, 1, length, length)
	x := make([]float32, length*2) // equal rows attend alike to what they see
	weights := make([]float32, length*length)
	check(transformer.Attention{Heads: 1, HeadDim: 2}.Forward(new(transformer.Workspace), make([]float32, len(x)), transformer.AttentionInput{
		Query: x, Batch: transformer.Uniform(1, length), Mask: padding.And(lookAhead), Weights: weights,
	}))
	for q := range length {
		fmt.Printf("%.2f\n", weights[q*length:(q+1)*length])
	}
	// Output:
	// [1.00 0.00 0.00 0.00]
	// [0.50 0.50 0.00 0.00]
	// [0.33 0.33 0.33 0.00]
	// [0.33 0.33 0.33 0.00]
}

// A self-attention module whose window keeps cost and memory independent of
// the length of the sequence.
func ExampleSlidingWindow() {
	a, err := transformer.NewMultiHeadAttention(
		transformer.AttentionConfig{Dim: 64, Heads: 4, Bias: true, OutBias: true},
		transformer.AttentionNames{Query: "W_Q.", Key: "W_K.", Value: "W_V.", Out: "output_layer."},
		transformer.Random(1), "")
	check(err)
	const length = 1000
	x := make([]float32, length*64)
	for i := range x {
		x[i] = float32(i%97) / 97
	}
	y := make([]float32, len(x))
	ws := new(transformer.Workspace)
	check(a.Forward(ws, y, transformer.AttentionInput{Query: x, Batch: transformer.Uniform(1, length), Mask: transformer.SlidingWindow(16)}, nil))

	// The last row sees 16 rows only: the same without the others.
	last := make([]float32, 16*64)
	check(a.Forward(ws, last, transformer.AttentionInput{Query: x[(length-16)*64:], Batch: transformer.Uniform(1, 16), Mask: transformer.Causal()}, nil))
	worst := float32(0)
	for i, v := range last[15*64:] {
		worst = max(worst, v-y[(length-1)*64+i], y[(length-1)*64+i]-v)
	}
	fmt.Println("largest difference below 1e-5:", worst < 1e-5)
	// Output:
	// largest difference below 1e-5: true
}

// torch.nn.Transformer, with its state_dict from a safetensors file.
func ExampleNewTransformer() {
	config := classic.TorchConfig{Dim: 32, Heads: 4, EncoderLayers: 2, DecoderLayers: 2, FeedForward: 64, Activation: kernels.ActReLU, NormFirst: false}.Transformer()

	// A file as safetensors.torch.save_model writes it, here with made-up weights.
	state := recording{transformer.TensorMap{}}
	_, err := classic.NewTransformer(config, classic.TorchTransformer(), state, "")
	check(err)
	var file bytes.Buffer
	check(safetensors.Write(&file, state.TensorMap, nil))

	f, err := safetensors.Parse(file.Bytes()) // or safetensors.Open(path)
	check(err)
	m, err := classic.NewTransformer(config, classic.TorchTransformer(), transformer.FromSafetensors(f), "")
	check(err)
	source, target := transformer.Uniform(2, 9), transformer.Uniform(2, 7)
	y := make([]float32, target.Rows()*32)
	check(m.Forward(new(transformer.Workspace), y,
		transformer.LayerInput{X: make([]float32, source.Rows()*32), Batch: source},
		transformer.LayerInput{X: make([]float32, target.Rows()*32), Batch: target, Mask: transformer.Causal()}))
	fmt.Println(len(f.Names()), "tensors, such as", f.Names()[0])
	fmt.Println(len(y)/32, "rows of output")
	// Output:
	// 64 tensors, such as decoder.layers.0.linear1.bias
	// 14 rows of output
}

// recording is made-up weights that are kept.
type recording struct{ transformer.TensorMap }

func (r recording) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := transformer.Random(1).Tensor(name, shape...)
	r.TensorMap[name] = safetensors.Tensor{Shape: append([]int{}, shape...), Data: x}
	return x, err
}

// An error of loading lists all that is wrong, and matches what it lists.
func ExampleLoadError() {
	_, err := transformer.NewNorm(transformer.NormConfig{Shape: []int{3}, Eps: 1e-5}, transformer.TensorMap{
		"norm.weight": {Shape: []int{2}, Data: []float32{1, 1}},
		"norm.gamma":  {Shape: []int{3}, Data: []float32{1, 1, 1}},
	}, "norm.")
	fmt.Println(err)
	fmt.Println(errors.Is(err, transformer.ErrMissing), errors.Is(err, transformer.ErrMisshapen), errors.Is(err, transformer.ErrLeftOver))
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
