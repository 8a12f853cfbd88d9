package classic_test

import (
	"bytes"
	"context"
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

// BERT on two sentences of different length, without padding, with its attention maps.
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

// The gradients of attention weights tell which of them a result depends on: a key that is attended
// to but whose value is not used gets none.
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

// A layer of BLIP's text decoder: BERT's layer with cross-attention to vision features of another
// width, causal among the text.
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
