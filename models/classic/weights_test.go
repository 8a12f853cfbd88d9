package classic_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// builders makes each kind of model from weights.
var builders = map[string]func(w tf.Weights) error{
	"BERT": func(w tf.Weights) error {
		_, err := classic.NewBERT(classic.BERTConfig{Vocab: 9, Types: 2, MaxPositions: 8, Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Activation: kernels.ActGELU, Eps: 1e-12, Pooler: true, MemoryDim: 6}, w, "bert.")
		return err
	},
	"ViT": func(w tf.Weights) error {
		_, err := classic.NewViT(classic.ViTConfig{Height: 4, Width: 4, PatchHeight: 2, PatchWidth: 2, Channels: 3, Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Activation: kernels.ActGELU, Eps: 1e-6, QKVBias: true, Classes: 5}, w, "")
		return err
	},
	"d2l": func(w tf.Weights) error {
		_, err := classic.NewSeq2Seq(classic.Seq2SeqConfig{TransformerConfig: classic.D2LConfig{Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Bias: false}.Transformer(), SourceVocab: 7, TargetVocab: 8, MaxLen: 10}, classic.D2LSeq2Seq(), w, "")
		return err
	},
	"torch": func(w tf.Weights) error {
		_, err := classic.NewTransformer(classic.TorchConfig{Dim: 8, Heads: 2, EncoderLayers: 2, DecoderLayers: 2, FeedForward: 12, Activation: kernels.ActReLU, NormFirst: false}.Transformer(), classic.TorchTransformer(), w, "transformer.")
		return err
	},
}

// TestNamesOfWeights compares the names that models ask for with those that their ecosystems'
// checkpoints have.
func TestNamesOfWeights(t *testing.T) {
	want := map[string][]string{
		"BERT": {
			"bert.embeddings.word_embeddings.weight", "bert.embeddings.token_type_embeddings.weight", "bert.embeddings.position_embeddings.weight", "bert.embeddings.LayerNorm.bias",
			"bert.encoder.layer.1.attention.self.query.weight", "bert.encoder.layer.1.attention.output.dense.bias", "bert.encoder.layer.1.attention.output.LayerNorm.weight",
			"bert.encoder.layer.0.crossattention.self.key.weight", "bert.encoder.layer.0.intermediate.dense.weight", "bert.encoder.layer.0.output.dense.weight", "bert.encoder.layer.0.output.LayerNorm.bias",
			"bert.pooler.dense.weight",
		},
		"ViT":   {"cls_token", "pos_embed", "patch_embed.proj.weight", "blocks.1.attn.qkv.bias", "blocks.1.mlp.fc2.weight", "blocks.0.norm2.bias", "norm.weight", "head.bias"},
		"d2l":   {"encoder.embedding.weight", "encoder.blks.block1.attention.W_q.weight", "decoder.blks.block0.attention2.W_o.weight", "decoder.blks.block1.addnorm3.ln.bias", "decoder.blks.block1.ffn.dense1.bias", "decoder.dense.bias"},
		"torch": {"transformer.encoder.layers.1.self_attn.in_proj_weight", "transformer.decoder.layers.0.multihead_attn.in_proj_bias", "transformer.decoder.layers.0.multihead_attn.out_proj.weight", "transformer.decoder.layers.1.norm3.weight", "transformer.encoder.norm.bias"},
	}
	for name, build := range builders {
		c := tftest.Collected{Tensors: tf.TensorMap{}}
		tftest.NoError(t, build(c))
		for _, w := range want[name] {
			if _, ok := c.Tensors[w]; !ok {
				t.Errorf("%s does not ask for %s, except for %q", name, w, c.Tensors.Names())
			}
		}
		// Exactly these names, in memory and in a file, load without complaint.
		tftest.NoError(t, build(c.Tensors))
		var file bytes.Buffer
		tftest.NoError(t, safetensors.Write(&file, c.Tensors, nil))
		f := tftest.Must(safetensors.Parse(file.Bytes()))(t)
		tftest.NoError(t, build(tf.FromSafetensors(f)))
	}
}

// TestLoadErrors spoils the weights of each model in three ways at once, and expects all of them in
// one error.
func TestLoadErrors(t *testing.T) {
	for name, build := range builders {
		t.Run(name, func(t *testing.T) {
			c := tftest.Collected{Tensors: tf.TensorMap{}}
			tftest.NoError(t, build(c))
			names := c.Tensors.Names()
			prefix := ""
			if name == "BERT" || name == "torch" {
				prefix, _, _ = strings.Cut(names[0], ".")
				prefix += "."
			}
			spoiled := maps.Clone(c.Tensors)
			missing, misshapen, extra := names[1], names[len(names)-1], prefix+"extra.weight"
			delete(spoiled, missing)
			spoiled[misshapen] = safetensors.Tensor{Shape: []int{2, 3, 5}, Data: make([]float32, 30)}
			spoiled[extra] = safetensors.Tensor{Shape: []int{1}, Data: []float32{0}}
			err := build(spoiled)
			for _, want := range []error{fault.ErrMissing, fault.ErrMisshapen, fault.ErrLeftOver} {
				if !errors.Is(err, want) {
					t.Errorf("the error does not match %v: %v", want, err)
				}
			}
			var load *tf.LoadError
			if !errors.As(err, &load) {
				t.Fatalf("error %v is not a LoadError", err)
			}
			if !slices.Equal(load.Missing, []string{missing}) || !slices.Equal(load.LeftOver, []string{extra}) || len(load.Misshapen) != 1 {
				t.Errorf("LoadError %+v, want %s missing, %s left over", load, missing, extra)
			}
			for _, want := range []string{missing, misshapen, extra, "[2 3 5]"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			tftest.NoError(t, build(tf.Hide(restored{c.Tensors, spoiled}, prefix+"extra.*")))
		})
	}
}

// restored is the tensors of one map under the names of another.
type restored struct{ tensors, names tf.TensorMap }

func (r restored) Names() []string { return r.names.Names() }

func (r restored) Tensor(name string, shape ...int) ([]float32, error) {
	return r.tensors.Tensor(name, shape...)
}

// failingWeights cannot be read.
type failingWeights struct{ tf.Weights }

var errRead = errors.New("cannot read")

func (failingWeights) Tensor(string, ...int) ([]float32, error) { return nil, errRead }

func TestLoadReportsReadErrors(t *testing.T) {
	for name, build := range builders {
		if err := build(failingWeights{tf.Random(1)}); !errors.Is(err, errRead) {
			t.Errorf("%s: error %v, want %v", name, err, errRead)
		}
	}
}
