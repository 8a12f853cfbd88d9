package classic_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestPiecesOfDifferentLengths feeds sequences to a BERT in pieces that differ from sequence to
// sequence, so that each is at a position of its own.
func TestPiecesOfDifferentLengths(t *testing.T) {
	b := tftest.Must(classic.NewBERT(classic.BERTConfig{Vocab: 9, Types: 1, MaxPositions: 8, Dim: 8, Heads: 2, Layers: 1, FeedForward: 8, Activation: kernels.ActReLU, Eps: 1e-6}, tf.Random(1), ""))(t)
	run := func(tokens []int, batch tf.Batch, cache *tf.Cache) []float32 {
		y := make([]float32, len(tokens)*8)
		in := classic.BERTInput{LayerInput: tf.LayerInput{Batch: batch, Mask: tf.Causal()}, Tokens: tokens}
		tftest.NoError(t, b.Forward(new(tf.Workspace), y, in, cache))
		return y
	}
	tokens := []int{3, 1, 4, 1, 5}
	whole := run(tokens, tf.Uniform(1, 5), nil)
	cache := tf.NewCache(2)
	run([]int{3, 1, 4, 3}, tf.Ragged(3, 1), cache)
	got := run([]int{1, 5, 1, 4, 1}, tf.Ragged(2, 3), cache)
	want := slices.Concat(whole[3*8:], whole[8:4*8])
	if text := tftest.Mismatch(got, want, func(int, float64) float64 { return 1e-5 }); text != "" {
		t.Error(text)
	}
}

// TestPatches compares the patches of images that are not squares with the convolution.
func TestPatches(t *testing.T) {
	const channels, height, width, ph, pw, dim = 2, 4, 9, 2, 3, 4
	v := tftest.Must(classic.NewViT(classic.ViTConfig{Height: height, Width: width, PatchHeight: ph, PatchWidth: pw, Channels: channels, Dim: dim, Heads: 1, Layers: 1,
		FeedForward: 4, Activation: kernels.ActGELU, Eps: 1e-6}, tf.Random(1), ""))(t)
	images := tftest.Normal(1, 2*channels*height*width)
	weight := v.Patch.Weight()
	var want []float32
	for n := range 2 {
		for y := 0; y < height; y += ph {
			for x := 0; x < width; x += pw {
				for d := range dim {
					sum := float64(v.Patch.Bias[d])
					for i := range channels * ph * pw {
						c, dy, dx := i/(ph*pw), i/pw%ph, i%pw
						sum += float64(weight[d*channels*ph*pw+i]) * float64(images[((n*channels+c)*height+y+dy)*width+x+dx])
					}
					want = append(want, float32(sum))
				}
			}
		}
	}
	var got []float32
	ws := &tf.Workspace{Trace: func(name string, values []float32, _ ...int) {
		if name == "patch_embed" {
			got = slices.Clone(values)
		}
	}}
	tftest.NoError(t, v.Forward(ws, make([]float32, v.Batch(2).Rows()*dim), images))
	if text := tftest.Mismatch(got, want, func(int, float64) float64 { return 1e-5 }); text != "" {
		t.Error(text)
	}
}

// TestForwardErrors passes what does not fit. Nothing may panic.
func TestForwardErrors(t *testing.T) {
	ws := new(tf.Workspace)
	bert := tftest.Must(classic.NewBERT(classic.BERTConfig{Vocab: 9, Types: 1, MaxPositions: 8, Dim: 8, Heads: 2, Layers: 1, FeedForward: 8, Activation: kernels.ActReLU, Eps: 1, Pooler: true}, tf.Random(1), ""))(t)
	seq := tftest.Must(classic.NewSeq2Seq(classic.Seq2SeqConfig{TransformerConfig: classic.D2LConfig{Dim: 8, Heads: 2, Layers: 1, FeedForward: 8}.Transformer(), SourceVocab: 9, TargetVocab: 9, MaxLen: 8}, classic.D2LSeq2Seq(), tf.Random(1), ""))(t)
	full := tf.NewCache(2)
	tftest.NoError(t, bert.Forward(ws, make([]float32, 2*8*8), classic.BERTInput{LayerInput: tf.LayerInput{Batch: tf.Uniform(2, 8)}, Tokens: make([]int, 16)}, full))
	pair := classic.BERTInput{LayerInput: tf.LayerInput{Batch: tf.Uniform(2, 1)}, Tokens: []int{1, 2}}
	for name, c := range map[string]struct{ err, want error }{
		"BERT, cache":        {bert.Forward(ws, make([]float32, 2*8), pair, tf.NewCache(1)), fault.ErrShape},
		"feed too many":      {tftest.Second(generation.StartLM(ws, seq.Decoder(), &models.Memory{X: make([]float32, 8), Batch: tf.Uniform(1, 1)}, 1).Feed([][]int{{1}, {2}})), fault.ErrShape},
		"pool nothing":       {bert.Pool(ws, make([]float32, 2*8), make([]float32, 8), tf.Ragged(1, 0)), fault.ErrShape},
		"BERT, past the end": {bert.Forward(ws, make([]float32, 2*8), pair, full), fault.ErrTooLong},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
}
