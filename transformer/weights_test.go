package transformer_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestHide wants hidden tensors to be neither listed nor there.
func TestHide(t *testing.T) {
	one := safetensors.Tensor{Shape: []int{1}, Data: []float32{1}}
	w := tf.Hide(tf.TensorMap{"a.weight": one, "a.bias": one, "b": one}, "a.*", "c")
	if got := w.Names(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("Names() = %q", got)
	}
	for name, want := range map[string]error{"a.bias": fault.ErrMissing, "b": nil} {
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
		"negative key dim":        attention(tf.AttentionConfig{Dim: 8, Heads: 4, KeyWidth: -1}),
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
		"no layers":               tftest.Second(tf.NewStack(tf.StackConfig{Layer: twinLayers()["post-norm"]}, classic.TorchEncoder(), w, "")),
		"rotary of no head":       tftest.Second(tf.NewRotary(tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: 4}, 0)),
		"image of 2^64 pixels":    tftest.Second(classic.NewViT(classic.ViTConfig{Height: 1 << 30, Width: 1 << 30, PatchHeight: 1, PatchWidth: 1, Channels: 16}, w, "")),
		"patches":                 tftest.Second(classic.NewViT(classic.ViTConfig{Height: 5, Width: 4, PatchHeight: 2, PatchWidth: 2, Channels: 1}, w, "")),
		"linear":                  tftest.Second(tf.NewLinear(0, 3, nil, nil)),
	} {
		if !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: error %v, want ErrConfig", name, err)
		}
	}
	if _, err := tf.NewLinear(2, 3, make([]float32, 5), nil); !errors.Is(err, fault.ErrShape) {
		t.Errorf("linear layer of 5 weights: %v", err)
	}
}

// TestForwardErrors passes what does not fit. Nothing may panic.
func TestForwardErrors(t *testing.T) {
	l := tftest.Must(tf.NewLayer(twinLayers()["decoder"], layerNames, tf.Random(1), ""))(t)
	relative := tftest.Must(tf.NewLayer(twinLayers()["relative key"], layerNames, tf.Random(1), ""))(t)
	rotary := tftest.Must(tf.NewLayer(twinLayers()["rotary halves"], layerNames, tf.Random(1), ""))(t)
	ws := new(tf.Workspace)
	good := func() tf.LayerInput {
		return tf.LayerInput{X: tftest.Normal(1, 6*l.Dim), Batch: tf.Uniform(2, 3), Memory: tftest.Normal(2, 8*20), MemoryBatch: tf.Uniform(2, 4)}
	}
	forward := func(l *tf.Layer, change func(in *tf.LayerInput)) error {
		in := good()
		change(&in)
		return l.Forward(ws, make([]float32, 6*l.Dim), in, nil)
	}
	long := tf.Uniform(1, 90)
	pairs := twinLayers()["post-norm"]
	pairs.Norm.Shape = []int{2, l.Dim}
	whole := tftest.Must(tf.NewLayer(pairs, layerNames, tf.Random(1), ""))(t)
	apart := tftest.Must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 8, Heads: 2, CrossOnly: true, Relative: tf.RelativeKey, MaxPositions: 4},
		layerNames.Attention, tf.Random(1), ""))(t)
	edited := func(edit func(f *tf.FeedForward)) error {
		f := *l.Feed.(*tf.FeedForward)
		edit(&f)
		return f.Forward(ws, make([]float32, l.Dim), make([]float32, l.Dim), nil)
	}
	for name, c := range map[string]struct{ err, want error }{
		"short x":              {forward(l, func(in *tf.LayerInput) { in.X = in.X[1:] }), fault.ErrShape},
		"dst":                  {l.Forward(ws, nil, good(), nil), fault.ErrShape},
		"batch":                {forward(l, func(in *tf.LayerInput) { in.Batch = tf.Uniform(2, 4) }), fault.ErrShape},
		"no memory":            {forward(l, func(in *tf.LayerInput) { in.Memory = nil }), fault.ErrShape},
		"memory batch":         {forward(l, func(in *tf.LayerInput) { in.MemoryBatch = tf.Uniform(4, 2) }), fault.ErrShape},
		"memory width":         {forward(l, func(in *tf.LayerInput) { in.Memory = in.Memory[4:] }), fault.ErrShape},
		"mask batch":           {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ValidLengths(1, 2, 3) }), fault.ErrShape},
		"no lengths":           {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ValidLengths() }), fault.ErrShape},
		"mask queries":         {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ValidLengthsPerQuery(make([]int, 8), 4) }), fault.ErrShape},
		"mask shape":           {forward(l, func(in *tf.LayerInput) { in.Mask = tf.KeepMask(make([]bool, 18), 2, 1, 3, 4) }), fault.ErrShape},
		"mask data":            {forward(l, func(in *tf.LayerInput) { in.Mask = tf.KeepMask(make([]bool, 17), 2, 1, 3, 3) }), fault.ErrShape},
		"no mask data":         {forward(l, func(in *tf.LayerInput) { in.Mask = tf.AdditiveMask(nil, 2, 1, 3, 3) }), fault.ErrShape},
		"slopes":               {forward(l, func(in *tf.LayerInput) { in.Mask = tf.ALiBi(1, 2) }), fault.ErrShape},
		"head mask":            {forward(l, func(in *tf.LayerInput) { in.HeadMask = make([]float32, 2) }), fault.ErrShape},
		"relative too long":    {relative.Forward(ws, make([]float32, 90*l.Dim), tf.LayerInput{X: make([]float32, 90*l.Dim), Batch: long}, nil), fault.ErrTooLong},
		"rotary too long":      {rotary.Forward(ws, make([]float32, 90*l.Dim), tf.LayerInput{X: make([]float32, 90*l.Dim), Batch: long}, nil), fault.ErrTooLong},
		"relative, one beyond": {relative.Forward(ws, make([]float32, 81*l.Dim), tf.LayerInput{X: make([]float32, 81*l.Dim), Batch: tf.Uniform(1, 81)}, nil), fault.ErrTooLong},
		"relative keys": {apart.Forward(ws, make([]float32, 8), tf.AttentionInput{Query: make([]float32, 8), Batch: tf.Uniform(1, 1),
			Key: make([]float32, 5*8), KeyBatch: tf.Uniform(1, 5)}, nil), fault.ErrTooLong},
		"relative queries": {apart.Forward(ws, make([]float32, 5*8), tf.AttentionInput{Query: make([]float32, 5*8), Batch: tf.Uniform(1, 5),
			Key: make([]float32, 8), KeyBatch: tf.Uniform(1, 1)}, nil), fault.ErrTooLong},
		"norm across":          {whole.Forward(ws, make([]float32, 6*l.Dim), tf.LayerInput{X: tftest.Normal(1, 6*l.Dim), Batch: tf.Uniform(2, 3)}, nil), fault.ErrShape},
		"reorder too few":      {tf.NewCache(2).Reorder([]int{0}), fault.ErrShape},
		"nil workspace":        {l.Forward(nil, make([]float32, 6*l.Dim), good(), nil), fault.ErrConfig},
		"zero layer":           {new(tf.Layer).Forward(ws, nil, tf.LayerInput{}, nil), fault.ErrConfig},
		"nil layer":            {(*tf.Layer)(nil).Forward(ws, nil, tf.LayerInput{}, nil), fault.ErrConfig},
		"zero stack":           {new(tf.Stack).Forward(ws, nil, tf.LayerInput{}, nil), fault.ErrConfig},
		"zero linear":          {new(tf.Linear).Forward(ws, nil, nil), fault.ErrConfig},
		"literal linear":       {(&tf.Linear{In: 2, Out: 2}).Forward(ws, make([]float32, 2), make([]float32, 2)), fault.ErrConfig},
		"zero norm":            {new(tf.Norm).Forward(ws, nil, nil), fault.ErrConfig},
		"literal norm":         {(&tf.Norm{Weight: make([]float32, 2)}).Forward(ws, nil, nil), fault.ErrConfig},
		"zero embedding":       {new(tf.Embedding).Forward(ws, nil, nil), fault.ErrConfig},
		"zero attention":       {new(tf.MultiHeadAttention).Forward(ws, nil, tf.AttentionInput{}, nil), fault.ErrConfig},
		"zero feed-forward":    {new(tf.FeedForward).Forward(ws, nil, nil, nil), fault.ErrConfig},
		"edited feed-forward":  {edited(func(f *tf.FeedForward) { f.Hidden++ }), fault.ErrConfig},
		"another up":           {edited(func(f *tf.FeedForward) { f.Up = f.Down }), fault.ErrConfig},
		"another down":         {edited(func(f *tf.FeedForward) { f.Down = f.Up }), fault.ErrConfig},
		"another gate":         {edited(func(f *tf.FeedForward) { f.Gate = f.Down }), fault.ErrConfig},
		"attention without ws": {tf.Attention{Heads: 1, HeadDim: 1}.Forward(nil, nil, tf.AttentionInput{}), fault.ErrConfig},
		"reorder out of range": {tf.NewCache(2).Reorder([]int{0, 2}), fault.ErrShape},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
	// A workspace can be used after an error.
	in := good()
	tftest.NoError(t, l.Forward(ws, make([]float32, 6*l.Dim), in, nil))
}

// TestShapesThatOverflow has a tensor without elements, as its shape has if the product wraps
// around.
func TestShapesThatOverflow(t *testing.T) {
	shape := []int{1 << 30, 1 << 30, 16}
	w := tf.TensorMap{"weight": {Shape: shape}, "bias": {Shape: shape}}
	if _, err := tf.NewNorm(tf.NormConfig{Shape: shape, Eps: 1}, w, ""); !errors.Is(err, fault.ErrMisshapen) {
		t.Errorf("error %v, want ErrMisshapen", err)
	}
}
