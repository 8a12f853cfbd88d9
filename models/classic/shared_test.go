package classic_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestSharedModels has many goroutines use the same models, inputs and masks at once, each with a
// workspace of its own, and wants the bits that each use has alone. It is for the race detector
// too.
func TestSharedModels(t *testing.T) {
	uses := map[string]func(ws *tf.Workspace) (result any, err error){}

	bert := tftest.Must(classic.NewBERT(classic.BERTConfig{Vocab: 40, Types: 2, MaxPositions: 16, Dim: 24, Heads: 3, Layers: 2, FeedForward: 48,
		Activation: kernels.ActGELU, Eps: 1e-12, Relative: tf.RelativeKeyQuery, Chunk: 3, Pooler: true}, tf.Random(1), ""))(t)
	words := classic.BERTInput{LayerInput: tf.LayerInput{Batch: tf.Ragged(3, 9, 5), Mask: tf.ValidLengths(3, 7, 5)}, Tokens: make([]int, 17)}
	for i := range words.Tokens {
		words.Tokens[i] = i * 7 % bert.Vocab
	}
	uses["BERT"] = func(ws *tf.Workspace) (any, error) {
		x, pooled := make([]float32, 17*bert.Dim), make([]float32, 3*bert.Dim)
		err := errors.Join(bert.Forward(ws, x, words, nil), bert.Pool(ws, pooled, x, words.Batch))
		return [][]float32{x, pooled}, err
	}

	vit := tftest.Must(classic.NewViT(classic.ViTConfig{Height: 16, Width: 24, PatchHeight: 8, PatchWidth: 8, Channels: 3, Dim: 16, Heads: 2, Layers: 2,
		FeedForward: 32, Activation: kernels.ActGELU, Eps: 1e-6, QKVBias: true, Classes: 5}, tf.Random(2), ""))(t)
	images := tftest.Normal(1, 2*3*16*24)
	uses["ViT"] = func(ws *tf.Workspace) (any, error) {
		classes := make([]float32, 2*5)
		return classes, vit.Classify(ws, classes, images)
	}

	// 64 rows of width 64, so that products have work for several threads.
	torch := tftest.Must(classic.NewTransformer(classic.TorchConfig{Dim: 64, Heads: 4, EncoderLayers: 1, DecoderLayers: 1, FeedForward: 96, Activation: kernels.ActReLU, NormFirst: true}.Transformer(), classic.TorchTransformer(), tf.Random(3), ""))(t)
	source := tf.LayerInput{X: tftest.Normal(2, 64*64), Batch: tf.Uniform(2, 32), Mask: tf.ALiBi(tf.ALiBiSlopes(4)...)}
	target := tf.LayerInput{X: tftest.Normal(3, 20*64), Batch: tf.Ragged(12, 8), Mask: tf.Causal()}
	uses["Transformer"] = func(ws *tf.Workspace) (any, error) {
		dst := make([]float32, 20*64)
		return dst, torch.Forward(ws, dst, source, target)
	}

	// The memory of one source, which several decodings share.
	d2l := tftest.Must(classic.NewSeq2Seq(classic.Seq2SeqConfig{TransformerConfig: classic.D2LConfig{Dim: 32, Heads: 4, Layers: 2, FeedForward: 64, Bias: false}.Transformer(), SourceVocab: 40, TargetVocab: 37, MaxLen: 40},
		classic.D2LSeq2Seq(), tf.Random(4), ""))(t)
	memory := models.Memory{Batch: tf.Uniform(1, 8), Mask: classic.D2LMask(5), X: make([]float32, 8*32)}
	tokens := []int{7, 3, 21, 2, 9, 0, 0, 0}
	tftest.NoError(t, d2l.Encode(new(tf.Workspace), memory.X, tokens, memory.Batch, memory.Mask))
	beams := memory
	beams.Mask = classic.D2LMask(5, 5)
	uses["Seq2Seq, encoder"] = func(ws *tf.Workspace) (any, error) {
		x := make([]float32, len(memory.X))
		return x, d2l.Encode(ws, x, tokens, memory.Batch, memory.Mask)
	}
	uses["Seq2Seq, decoder"] = func(ws *tf.Workspace) (any, error) {
		return generation.Beam(t.Context(), generation.StartLM(ws, d2l.Decoder(), &beams, 2), []int{1}, generation.BeamConfig{Width: 2, MaxTokens: 8})
	}

	attention := torch.Encoder.Layers[0].Self
	out := tftest.Normal(4, 64*64)
	uses["gradients"] = func(ws *tf.Workspace) (any, error) {
		g := classic.AttentionGradients{Query: make([]float32, 64*64), Weights: make([]float32, 2*4*32*32)}
		return g, classic.AttentionBackward(ws, attention, g, tf.AttentionInput{Query: source.X, Batch: source.Batch}, out)
	}

	// A file that several models are loaded from at once.
	var disk bytes.Buffer
	tftest.NoError(t, safetensors.Write(&disk, map[string]safetensors.Tensor{"linear.weight": {Shape: []int{8, 16}, Data: tftest.Normal(5, 8*16)}}, nil))
	file := tftest.Must(safetensors.Parse(disk.Bytes()))(t)
	uses["weights"] = func(*tf.Workspace) (any, error) {
		return tf.FromSafetensors(file).Tensor("linear.weight", 8, 16)
	}

	tftest.EachTier(t, func(t *testing.T) { tftest.Shared(t, uses) })
}
