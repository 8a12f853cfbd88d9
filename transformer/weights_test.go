package transformer_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// collect records what a constructor asks for, as weights in memory.
type collect struct {
	tensors tf.TensorMap
}

func (c collect) Names() []string { return nil }

func (c collect) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := tf.Random(1).Tensor(name, shape...)
	c.tensors[name] = safetensors.Tensor{Shape: slices.Clone(shape), Data: x}
	return x, err
}

// builders makes each kind of model from weights.
var builders = map[string]func(w tf.Weights) error{
	"BERT": func(w tf.Weights) error {
		_, err := tf.NewBERT(tf.BERTConfig{Vocab: 9, Types: 2, MaxPositions: 8, Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Activation: tf.GELU, Eps: 1e-12, Pooler: true, MemoryDim: 6}, w, "bert.")
		return err
	},
	"ViT": func(w tf.Weights) error {
		_, err := tf.NewViT(tf.ViTConfig{Height: 4, Width: 4, PatchHeight: 2, PatchWidth: 2, Channels: 3, Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Activation: tf.GELU, Eps: 1e-6, QKVBias: true, Classes: 5}, w, "")
		return err
	},
	"d2l": func(w tf.Weights) error {
		_, err := tf.NewSeq2Seq(tf.Seq2SeqConfig{TransformerConfig: tf.D2LConfig(8, 2, 2, 12, false), SourceVocab: 7, TargetVocab: 8, MaxLen: 10}, tf.D2LSeq2Seq, w)
		return err
	},
	"torch": func(w tf.Weights) error {
		_, err := tf.NewTransformer(tf.TorchConfig(8, 2, 2, 2, 12, tf.ReLU, false), tf.TorchTransformer, w, "transformer.")
		return err
	},
	"LLaMA": func(w tf.Weights) error {
		_, err := tf.NewLanguageModel(tf.LlamaConfig(9, 8, 2, 1, 2, 12, 1e-6, tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: 16}), tf.Llama, w)
		return err
	},
}

// TestNamesOfWeights compares the names that models ask for with those that
// their ecosystems' checkpoints have.
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
		"LLaMA": {"model.embed_tokens.weight", "model.layers.1.self_attn.o_proj.weight", "model.layers.0.mlp.gate_proj.weight", "model.layers.0.post_attention_layernorm.weight", "model.norm.weight", "lm_head.weight"},
	}
	for name, build := range builders {
		c := collect{tf.TensorMap{}}
		noError(t, build(c))
		for _, w := range want[name] {
			if _, ok := c.tensors[w]; !ok {
				t.Errorf("%s does not ask for %s, but for %q", name, w, c.tensors.Names())
			}
		}
		// Exactly these names, in memory and in a file, load without complaint.
		noError(t, build(c.tensors))
		var file bytes.Buffer
		noError(t, safetensors.Write(&file, c.tensors, nil))
		f := must(safetensors.Parse(file.Bytes()))(t)
		noError(t, build(tf.FromSafetensors(f)))
	}
}

// TestLoadErrors spoils the weights of each model in three ways at once, and
// expects all of them in one error.
func TestLoadErrors(t *testing.T) {
	for name, build := range builders {
		t.Run(name, func(t *testing.T) {
			c := collect{tf.TensorMap{}}
			noError(t, build(c))
			names := c.tensors.Names()
			prefix := ""
			if name == "BERT" || name == "torch" {
				prefix, _, _ = strings.Cut(names[0], ".")
				prefix += "."
			}
			spoiled := maps.Clone(c.tensors)
			missing, misshapen, extra := names[1], names[len(names)-1], prefix+"extra.weight"
			delete(spoiled, missing)
			spoiled[misshapen] = safetensors.Tensor{Shape: []int{2, 3, 5}, Data: make([]float32, 30)}
			spoiled[extra] = safetensors.Tensor{Shape: []int{1}, Data: []float32{0}}
			err := build(spoiled)
			for _, want := range []error{tf.ErrMissing, tf.ErrMisshapen, tf.ErrLeftOver} {
				if !errors.Is(err, want) {
					t.Errorf("the error does not match %v: %v", want, err)
				}
			}
			var load *tf.LoadError
			if !errors.As(err, &load) {
				t.Fatalf("error %v is no LoadError", err)
			}
			if !slices.Equal(load.Missing, []string{missing}) || !slices.Equal(load.LeftOver, []string{extra}) || len(load.Misshapen) != 1 {
				t.Errorf("LoadError %+v, want %s missing, %s left over", load, missing, extra)
			}
			for _, want := range []string{missing, misshapen, extra, "[2 3 5]"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			noError(t, build(tf.Hide(restored{c.tensors, spoiled}, prefix+"extra.*")))
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

// TestHide wants hidden tensors to be neither listed nor there.
func TestHide(t *testing.T) {
	one := safetensors.Tensor{Shape: []int{1}, Data: []float32{1}}
	w := tf.Hide(tf.TensorMap{"a.weight": one, "a.bias": one, "b": one}, "a.*", "c")
	if got := w.Names(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("Names() = %q", got)
	}
	for name, want := range map[string]error{"a.bias": tf.ErrMissing, "b": nil} {
		if _, err := w.Tensor(name, 1); !errors.Is(err, want) {
			t.Errorf("Tensor(%q): error %v, want %v", name, err, want)
		}
	}
}

// TestConfigErrors makes models of configurations that make no sense.
func TestConfigErrors(t *testing.T) {
	w := tf.Random(1)
	attention := func(c tf.AttentionConfig) error {
		_, err := tf.NewMultiHeadAttention(c, layerNames.Attention, w, "")
		return err
	}
	layer := func(change func(c *tf.LayerConfig)) error {
		c := twinLayers()["decoder"]
		change(&c)
		_, err := tf.NewLayer(c, layerNames, w, "")
		return err
	}
	rotary := func(c tf.RotaryConfig) error { _, err := tf.NewRotary(c, 8); return err }
	for name, err := range map[string]error{
		"no dim":                  attention(tf.AttentionConfig{Heads: 2}),
		"no heads":                attention(tf.AttentionConfig{Dim: 8}),
		"dim no multiple":         attention(tf.AttentionConfig{Dim: 8, Heads: 3}),
		"negative heads":          attention(tf.AttentionConfig{Dim: 8, Heads: -2}),
		"kv heads do not divide":  attention(tf.AttentionConfig{Dim: 8, Heads: 4, KVHeads: 3}),
		"negative key dim":        attention(tf.AttentionConfig{Dim: 8, Heads: 4, KeyDim: -1}),
		"relative without length": attention(tf.AttentionConfig{Dim: 8, Heads: 4, Relative: tf.RelativeKey}),
		"no pairing":              attention(tf.AttentionConfig{Dim: 8, Heads: 2, Rotary: &tf.RotaryConfig{MaxPositions: 4}}),
		"odd rotary dim":          rotary(tf.RotaryConfig{Pairing: tf.PairHalves, Dim: 3, MaxPositions: 4}),
		"rotary dim too large":    rotary(tf.RotaryConfig{Pairing: tf.PairHalves, Dim: 10, MaxPositions: 4}),
		"negative positions":      rotary(tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: -1}),
		"too few frequencies":     rotary(tf.RotaryConfig{Pairing: tf.PairHalves, Frequencies: []float64{1}}),
		"negative rotary factor":  rotary(tf.RotaryConfig{Pairing: tf.PairHalves, Factor: -1}),
		"no eps":                  layer(func(c *tf.LayerConfig) { c.Norm.Eps = 0 }),
		"eps NaN":                 layer(func(c *tf.LayerConfig) { c.Norm.Eps = float32(math.NaN()) }),
		"no activation":           layer(func(c *tf.LayerConfig) { c.FeedForward.Activation = 0 }),
		"norm of another width":   layer(func(c *tf.LayerConfig) { c.Norm.Shape = []int{5} }),
		"hidden width":            layer(func(c *tf.LayerConfig) { c.FeedForward.Hidden = 0 }),
		"feed-forward width":      layer(func(c *tf.LayerConfig) { c.FeedForward.Dim = 3 }),
		"cross width":             layer(func(c *tf.LayerConfig) { c.Cross.Dim = 12 }),
		"no layers":               second(tf.NewStack(tf.StackConfig{Layer: twinLayers()["post-norm"]}, tf.TorchEncoder, w, "")),
		"rotary of no head":       second(tf.NewRotary(tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: 4}, 0)),
		"image of 2^64 pixels":    second(tf.NewViT(tf.ViTConfig{Height: 1 << 30, Width: 1 << 30, PatchHeight: 1, PatchWidth: 1, Channels: 16}, w, "")),
		"patches":                 second(tf.NewViT(tf.ViTConfig{Height: 5, Width: 4, PatchHeight: 2, PatchWidth: 2, Channels: 1}, w, "")),
		"linear":                  second(tf.NewLinear(0, 3, nil, nil)),
	} {
		if !errors.Is(err, tf.ErrConfig) {
			t.Errorf("%s: error %v, want ErrConfig", name, err)
		}
	}
	if _, err := tf.NewLinear(2, 3, make([]float32, 5), nil); !errors.Is(err, tf.ErrShape) {
		t.Errorf("linear layer of 5 weights: %v", err)
	}
}

// TestForwardErrors passes what does not fit. Nothing may panic.
func TestForwardErrors(t *testing.T) {
	l := must(tf.NewLayer(twinLayers()["decoder"], layerNames, tf.Random(1), ""))(t)
	relative := must(tf.NewLayer(twinLayers()["relative key"], layerNames, tf.Random(1), ""))(t)
	rotary := must(tf.NewLayer(twinLayers()["rotary halves"], layerNames, tf.Random(1), ""))(t)
	model := must(tf.NewLanguageModel(tf.LlamaConfig(9, 8, 2, 1, 2, 12, 1e-6, tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: 16}), tf.Llama, tf.Random(1)))(t)
	ws := new(tf.Workspace)
	good := func() tf.LayerInput {
		return tf.LayerInput{X: normal(1, 6*l.Dim), Batch: tf.Uniform(2, 3), Memory: normal(2, 8*20), MemoryBatch: tf.Uniform(2, 4)}
	}
	forward := func(l *tf.Layer, change func(in *tf.LayerInput)) error {
		in := good()
		change(&in)
		return l.Forward(ws, make([]float32, 6*l.Dim), in, nil)
	}
	long := tf.Uniform(1, 90)
	pairs := twinLayers()["post-norm"]
	pairs.Norm.Shape = []int{2, l.Dim}
	whole := must(tf.NewLayer(pairs, layerNames, tf.Random(1), ""))(t)
	bert := must(tf.NewBERT(tf.BERTConfig{Vocab: 9, Types: 1, MaxPositions: 8, Dim: 8, Heads: 2, Layers: 1, FeedForward: 8, Activation: tf.ReLU, Eps: 1, Pooler: true}, tf.Random(1), ""))(t)
	seq := must(tf.NewSeq2Seq(tf.Seq2SeqConfig{TransformerConfig: tf.D2LConfig(8, 2, 1, 8, false), SourceVocab: 9, TargetVocab: 9, MaxLen: 8}, tf.D2LSeq2Seq, tf.Random(1)))(t)
	apart := must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 8, Heads: 2, CrossOnly: true, Relative: tf.RelativeKey, MaxPositions: 4},
		layerNames.Attention, tf.Random(1), ""))(t)
	full := tf.NewCache(2, 0)
	noError(t, bert.Forward(ws, make([]float32, 2*8*8), tf.BERTInput{LayerInput: tf.LayerInput{Batch: tf.Uniform(2, 8)}, Tokens: make([]int, 16)}, full))
	pair := tf.BERTInput{LayerInput: tf.LayerInput{Batch: tf.Uniform(2, 1)}, Tokens: []int{1, 2}}
	for name, c := range map[string]struct{ err, want error }{
		"short x":              {forward(l, func(in *tf.LayerInput) { in.X = in.X[1:] }), tf.ErrShape},
		"dst":                  {l.Forward(ws, nil, good(), nil), tf.ErrShape},
		"batch":                {forward(l, func(in *tf.LayerInput) { in.Batch = tf.Uniform(2, 4) }), tf.ErrShape},
		"no memory":            {forward(l, func(in *tf.LayerInput) { in.Memory = nil }), tf.ErrShape},
		"memory batch":         {forward(l, func(in *tf.LayerInput) { in.MemoryBatch = tf.Uniform(4, 2) }), tf.ErrShape},
		"memory width":         {forward(l, func(in *tf.LayerInput) { in.Memory = in.Memory[4:] }), tf.ErrShape},
		"mask batch":           {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ValidLengths(1, 2, 3) }), tf.ErrShape},
		"no lengths":           {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ValidLengths() }), tf.ErrShape},
		"mask queries":         {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ValidLengthsPerQuery(make([]int, 8), 4) }), tf.ErrShape},
		"mask shape":           {forward(l, func(in *tf.LayerInput) { in.Mask = tf.KeepMask(make([]bool, 18), 2, 1, 3, 4) }), tf.ErrShape},
		"mask data":            {forward(l, func(in *tf.LayerInput) { in.Mask = tf.KeepMask(make([]bool, 17), 2, 1, 3, 3) }), tf.ErrShape},
		"no mask data":         {forward(l, func(in *tf.LayerInput) { in.Mask = tf.AdditiveMask(nil, 2, 1, 3, 3) }), tf.ErrShape},
		"slopes":               {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ALiBi(1, 2) }), tf.ErrShape},
		"head mask":            {forward(l, func(in *tf.LayerInput) { in.HeadMask = make([]float32, 2) }), tf.ErrShape},
		"relative too long":    {relative.Forward(ws, make([]float32, 90*l.Dim), tf.LayerInput{X: make([]float32, 90*l.Dim), Batch: long}, nil), tf.ErrTooLong},
		"rotary too long":      {rotary.Forward(ws, make([]float32, 90*l.Dim), tf.LayerInput{X: make([]float32, 90*l.Dim), Batch: long}, nil), tf.ErrTooLong},
		"token":                {model.Logits(ws, make([]float32, 9), []int{9}, tf.Uniform(1, 1), nil), tf.ErrToken},
		"negative token":       {model.Logits(ws, make([]float32, 9), []int{-1}, tf.Uniform(1, 1), nil), tf.ErrToken},
		"tokens and batch":     {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 2), nil), tf.ErrShape},
		"cache of another":     {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 1), tf.NewCache(2, 0)), tf.ErrShape},
		"BERT, cache":          {bert.Forward(ws, make([]float32, 2*8), pair, tf.NewCache(1, 0)), tf.ErrShape},
		"feed too many":        {second(seq.Decode(ws, tf.Memory{X: make([]float32, 8), Batch: tf.Uniform(1, 1)}, 1).Feed([][]int{{1}, {2}})), tf.ErrShape},
		"pool nothing":         {bert.Pool(ws, make([]float32, 2*8), make([]float32, 8), tf.Ragged(1, 0)), tf.ErrShape},
		"BERT, past the end":   {bert.Forward(ws, make([]float32, 2*8), pair, full), tf.ErrTooLong},
		"relative, one beyond": {relative.Forward(ws, make([]float32, 81*l.Dim), tf.LayerInput{X: make([]float32, 81*l.Dim), Batch: tf.Uniform(1, 81)}, nil), tf.ErrTooLong},
		"relative keys": {apart.Forward(ws, make([]float32, 8), tf.AttentionInput{Query: make([]float32, 8), Batch: tf.Uniform(1, 1),
			Key: make([]float32, 5*8), KeyBatch: tf.Uniform(1, 5)}, nil), tf.ErrTooLong},
		"relative queries": {apart.Forward(ws, make([]float32, 5*8), tf.AttentionInput{Query: make([]float32, 5*8), Batch: tf.Uniform(1, 5),
			Key: make([]float32, 8), KeyBatch: tf.Uniform(1, 1)}, nil), tf.ErrTooLong},
		"norm across":          {whole.Forward(ws, make([]float32, 6*l.Dim), tf.LayerInput{X: normal(1, 6*l.Dim), Batch: tf.Uniform(2, 3)}, nil), tf.ErrShape},
		"reorder too few":      {tf.NewCache(2, 0).Reorder([]int{0}), tf.ErrShape},
		"reorder out of range": {tf.NewCache(2, 0).Reorder([]int{0, 2}), tf.ErrShape},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
	// A workspace is of use after an error.
	in := good()
	noError(t, l.Forward(ws, make([]float32, 6*l.Dim), in, nil))
}
