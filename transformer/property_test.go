package transformer_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// newStack returns a stack of two layers of the given configuration.
func newStack(t testing.TB, c tf.LayerConfig) *tf.Stack {
	t.Helper()
	return tftest.Must(tf.NewStack(tf.StackConfig{Layers: 2, Layer: c}, tf.StackNames{Layers: "%d.", Layer: layerNames}, tf.Random(4), ""))(t)
}

func stackForward(t testing.TB, s *tf.Stack, in tf.LayerInput) []float32 {
	t.Helper()
	if s.Layers[0].Cross != nil && in.Memory == nil {
		in.Memory, in.MemoryBatch = tftest.Normal(3, 6*20), tf.Uniform(1, 6)
	}
	y := make([]float32, len(in.X))
	tftest.NoError(t, s.Forward(new(tf.Workspace), y, in, nil))
	return y
}

// TestCausal changes one row at a time and expects the rows in front of it to stay as they are, bit
// for bit, and the row itself to change.
func TestCausal(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		for name, c := range twinLayers() {
			s := newStack(t, c)
			const length = 21
			x := tftest.Normal(1, length*s.Dim)
			in := tf.LayerInput{X: x, Batch: tf.Uniform(1, length), Mask: tf.Causal()}
			want := stackForward(t, s, in)
			for _, row := range []int{1, 8, length - 1} {
				in.X = slices.Clone(x)
				in.X[row*s.Dim+2] += 1
				got := stackForward(t, s, in)
				if !slices.Equal(got[:row*s.Dim], want[:row*s.Dim]) {
					t.Errorf("%s: row %d changes an earlier one", name, row)
				}
				if slices.Equal(got[row*s.Dim:(row+1)*s.Dim], want[row*s.Dim:(row+1)*s.Dim]) {
					t.Errorf("%s: row %d does not change", name, row)
				}
			}
		}
	})
}

// TestPermutedKeys permutes keys and values together, which without positions changes only
// roundings.
func TestPermutedKeys(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		a := tftest.Must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 24, Heads: 4, Bias: true, OutBias: true, CrossOnly: true}, layerNames.Attention, tf.Random(1), ""))(t)
		const lenQ, lenK = 9, 37
		q, k, v := tftest.Normal(1, lenQ*24), tftest.Normal(2, lenK*24), tftest.Normal(3, lenK*24)
		run := func(k, v []float32) []float32 {
			y := make([]float32, lenQ*24)
			tftest.NoError(t, a.Forward(new(tf.Workspace), y, tf.AttentionInput{Query: q, Batch: tf.Uniform(1, lenQ), Key: k, Value: v, KeyBatch: tf.Uniform(1, lenK)}, nil))
			return y
		}
		want := run(k, v)
		var pk, pv []float32
		for _, row := range rand.New(rand.NewPCG(1, 1)).Perm(lenK) {
			pk, pv = append(pk, k[row*24:(row+1)*24]...), append(pv, v[row*24:(row+1)*24]...)
		}
		allowed := func(int, float64) float64 { return 1e-5 }
		if text := tftest.Mismatch(run(pk, pv), want, allowed); text != "" {
			t.Error(text)
		}
		if tftest.Mismatch(run(pk, v), want, allowed) == "" {
			t.Error("permuting the keys alone changes nothing")
		}
	})
}

// TestPadding hides padding in all the ways that there are, and expects its content to change
// nothing, bit for bit, and the real rows to equal those of a batch without padding.
func TestPadding(t *testing.T) {
	lengths := []int{5, 12, 1}
	const length = 12
	tftest.EachTier(t, func(t *testing.T) {
		for name, c := range twinLayers() {
			if name == "decoder" || name == "pre-norm decoder" {
				continue // of which TestMemoryPadding asks the same
			}
			s := newStack(t, c)
			x, other := tftest.Normal(1, len(lengths)*length*s.Dim), tftest.Normal(2, len(lengths)*length*s.Dim)
			keep, blocked, bias := make([]bool, 3*length), make([]bool, 3*length), make([]float32, 3*length)
			perQuery := make([]int, 3*length)
			var tight []float32
			for i, n := range lengths {
				for j := range length {
					keep[i*length+j], blocked[i*length+j] = j < n, j >= n
					perQuery[i*length+j] = n
					if j < n {
						copy(other[(i*length+j)*s.Dim:][:s.Dim], x[(i*length+j)*s.Dim:])
					} else {
						bias[i*length+j] = float32(math.Inf(-1))
					}
				}
				tight = append(tight, x[i*length*s.Dim:(i*length+n)*s.Dim]...)
			}
			ragged := tf.Ragged(lengths...)
			want := stackForward(t, s, tf.LayerInput{X: tight, Batch: ragged})
			for maskName, mask := range map[string]*tf.Mask{
				"ValidLengths": tf.ValidLengths(lengths...), "D2LMask": classic.D2LMask(lengths...),
				"ValidLengthsPerQuery": tf.ValidLengthsPerQuery(perQuery, length),
				"KeepMask":             tf.KeepMask(keep, 3, 1, 1, length), "BlockMask": tf.BlockMask(blocked, 3, 1, 1, length),
				"AdditiveMask": tf.AdditiveMask(bias, 3, 1, 1, length),
				"BERTMask":     classic.BERTMask(keep, 3, length),
			} {
				in := tf.LayerInput{X: x, Batch: tf.Uniform(3, length), Mask: mask}
				y := stackForward(t, s, in)
				in.X = other
				z := stackForward(t, s, in)
				for i, n := range lengths {
					real, changed := y[i*length*s.Dim:(i*length+n)*s.Dim], z[i*length*s.Dim:(i*length+n)*s.Dim]
					if !slices.Equal(real, changed) {
						t.Errorf("%s, %s: padding of sequence %d changes its rows", name, maskName, i)
					}
					alone := want[ragged.Start(i)*s.Dim : ragged.Start(i+1)*s.Dim]
					if text := tftest.Mismatch(real, alone, func(int, float64) float64 { return 3e-5 }); text != "" {
						t.Errorf("%s, %s: sequence %d with padding: %s", name, maskName, i, text)
					}
				}
			}
		}
	})
}

// TestMemoryPadding is TestPadding for the memory of a decoder.
func TestMemoryPadding(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		s := newStack(t, twinLayers()["decoder"])
		x := tftest.Normal(1, 2*4*s.Dim)
		memory := tftest.Normal(2, 2*9*20)
		in := tf.LayerInput{X: x, Batch: tf.Uniform(2, 4), Memory: memory, MemoryBatch: tf.Uniform(2, 9), MemoryMask: tf.ValidLengths(9, 3)}
		want := stackForward(t, s, in)
		in.Memory = slices.Clone(memory)
		in.Memory[(9+3)*20+1] += 100
		if got := stackForward(t, s, in); !slices.Equal(got, want) {
			t.Error("hidden memory changes the result")
		}
		in.Memory[(9+2)*20+1] += 1
		if got := stackForward(t, s, in); slices.Equal(got, want) {
			t.Error("visible memory does not change the result")
		}
	})
}

// TestEmptyRows hides all keys from some queries.
func TestEmptyRows(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		a := tf.Attention{Heads: 2, HeadDim: 3}
		const lenQ, lenK = 3, 4
		q, k := tftest.Normal(1, lenQ*6), tftest.Normal(2, lenK*6)
		keep := []bool{true, false, true, true /**/, false, false, false, false /**/, true, true, true, true}
		lengths := []int{4, 0, 4}
		bias := make([]float32, lenQ*lenK)
		for i := range lenK {
			bias[lenK+i] = float32(math.Inf(-1))
		}
		for name, mask := range map[string]*tf.Mask{
			"KeepMask": tf.KeepMask(keep, 1, 1, lenQ, lenK), "ValidLengthsPerQuery": tf.ValidLengthsPerQuery(lengths, lenQ),
			"AdditiveMask": tf.AdditiveMask(bias, 1, 1, lenQ, lenK),
		} {
			for empty, want := range map[kernels.EmptyRow]float32{kernels.EmptyZero: 0, kernels.EmptyNaN: float32(math.NaN()), kernels.EmptyUniform: 0.25} {
				y, weights := make([]float32, lenQ*6), make([]float32, 2*lenQ*lenK)
				tftest.NoError(t, a.Forward(new(tf.Workspace), y, tf.AttentionInput{
					Query: q, Batch: tf.Uniform(1, lenQ), Key: k, KeyBatch: tf.Uniform(1, lenK), Mask: mask.WithEmpty(empty), Weights: weights,
				}))
				for h := range 2 {
					for j, w := range weights[(h*lenQ+1)*lenK : (h*lenQ+2)*lenK] {
						if w != want && !(w != w && want != want) {
							t.Errorf("%s, %d: weight %d of the empty row is %v, want %v", name, empty, j, w, want)
						}
					}
				}
				mean := (k[0] + k[6] + k[12] + k[18]) / 4
				got, wantY := float64(y[6]), float64(want)
				if empty == kernels.EmptyUniform {
					wantY = float64(mean)
				}
				if !(math.Abs(got-wantY) < 1e-6) && !(got != got && wantY != wantY) {
					t.Errorf("%s, %d: output of the empty row is %v, want %v", name, empty, got, wantY)
				}
				if y[0] != y[0] || y[12] != y[12] {
					t.Errorf("%s, %d: NaN in a row that sees keys", name, empty)
				}
			}
		}
	})
}

// TestNothing has batches without sequences or rows, and memories without rows.
func TestNothing(t *testing.T) {
	ws := new(tf.Workspace)
	s := newStack(t, twinLayers()["post-norm"])
	for name, in := range map[string]tf.LayerInput{
		"zero":               {},
		"no sequences":       {Batch: tf.Ragged(), Mask: tf.ValidLengths().And(tf.Causal())},
		"empty sequences":    {Batch: tf.Uniform(3, 0), Mask: tf.ValidLengths(0, 0, 0)},
		"empty, with a bias": {Batch: tf.Uniform(3, 0), Mask: tf.AdditiveMask(nil, 3, 1, 0, 0)},
	} {
		if err := s.Forward(ws, nil, in, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	dst, empty := tftest.Normal(1, 6), make([]float32, 0)
	tftest.NoError(t, tf.Attention{Heads: 2, HeadDim: 3}.Forward(ws, dst, tf.AttentionInput{
		Query: tftest.Normal(2, 6), Batch: tf.Uniform(1, 1), Key: empty, KeyBatch: tf.Uniform(1, 0), Weights: empty, Scores: empty,
	}))
	if !slices.Equal(dst, make([]float32, 6)) {
		t.Errorf("attention to nothing gives %v", dst)
	}
}

// TestRetry repeats a pass that failed after the projection of its memory, which a cache must not
// keep.
func TestRetry(t *testing.T) {
	s := newStack(t, twinLayers()["decoder"])
	ws, cache := new(tf.Workspace), tf.NewCache(2)
	in := tf.LayerInput{X: tftest.Normal(1, 2*s.Dim), Batch: tf.Uniform(2, 1), Memory: tftest.Normal(2, 6*20), MemoryBatch: tf.Uniform(3, 2)}
	got, want := make([]float32, 2*s.Dim), make([]float32, 2*s.Dim)
	if err := s.Forward(ws, got, in, cache); !errors.Is(err, fault.ErrShape) {
		t.Fatalf("three memories for two sequences: error %v", err)
	}
	in.Memory, in.MemoryBatch = tftest.Normal(3, 6*20), tf.Uniform(2, 3)
	tftest.NoError(t, s.Forward(ws, want, in, tf.NewCache(2)))
	tftest.NoError(t, s.Forward(ws, got, in, cache))
	if !slices.Equal(got, want) {
		t.Error("a pass after one that failed gives something else than without it")
	}
}

// TestHeadMaskOfLayer silences all heads of a layer, which then notices nothing of its memory.
func TestHeadMaskOfLayer(t *testing.T) {
	c := twinLayers()["pre-norm decoder"]
	c.Cross.Heads = c.Self.Heads
	l := tftest.Must(tf.NewLayer(c, layerNames, tf.Random(1), ""))(t)
	run := func(memory []float32, mask []float32) []float32 {
		y := make([]float32, 3*l.Dim)
		tftest.NoError(t, l.Forward(new(tf.Workspace), y, tf.LayerInput{X: tftest.Normal(1, 3*l.Dim), Batch: tf.Uniform(1, 3), HeadMask: mask,
			Memory: memory, MemoryBatch: tf.Uniform(1, 4)}, nil))
		return y
	}
	one, other, none := tftest.Normal(2, 4*20), tftest.Normal(3, 4*20), make([]float32, c.Self.Heads)
	if !slices.Equal(run(one, none), run(other, none)) {
		t.Error("cross-attention without heads sees its memory")
	}
	if slices.Equal(run(one, nil), run(other, nil)) {
		t.Error("cross-attention does not see its memory")
	}
}

// TestEmbedding looks up and adds scaled vectors.
func TestEmbedding(t *testing.T) {
	e := tftest.Must(tf.NewEmbedding(2, 2, []float32{1, 2, 3, 4}))(t)
	e.Scale = 10
	x := make([]float32, 4)
	tftest.NoError(t, e.Forward(new(tf.Workspace), x, []int{1, 0}))
	tftest.NoError(t, e.Add(new(tf.Workspace), x, []int{1, 1}))
	if want := []float32{60, 80, 40, 60}; !slices.Equal(x, want) {
		t.Errorf("%v, want %v", x, want)
	}
}

// TestHiddenRowsApart compares a network whose hidden rows are kept apart, since they are a
// multiple of 4 KiB long, with its parts one after another.
func TestHiddenRowsApart(t *testing.T) {
	const rows, dim, hidden = 5, 6, 2048
	x, residual := tftest.Normal(1, rows*dim), tftest.Normal(2, rows*dim)
	for _, gated := range []bool{false, true} {
		c := tf.FeedForwardConfig{Dim: dim, Hidden: hidden, Activation: kernels.ActSiLU, Gated: gated, Chunk: 2}
		f := tftest.Must(tf.NewFeedForward(c, tf.FeedForwardNames{Up: "up", Gate: "gate", Down: "down"}, tf.Random(3), ""))(t)
		ws := &tf.Workspace{Threads: 2}
		got := make([]float32, rows*dim)
		tftest.NoError(t, f.Forward(ws, got, x, residual))

		h := make([]float32, rows*hidden)
		tftest.NoError(t, f.Up.Forward(ws, h, x))
		if gated {
			g := make([]float32, rows*hidden)
			tftest.NoError(t, f.Gate.Forward(ws, g, x))
			kernels.SiLU(g, g)
			kernels.Mul(h, h, g)
		} else {
			kernels.SiLU(h, h)
		}
		want := make([]float32, rows*dim)
		tftest.NoError(t, f.Down.ForwardAdd(ws, want, h, residual))
		if diff := tftest.Mismatch(got, want, func(int, float64) float64 { return 1e-5 }); diff != "" {
			t.Errorf("gated %t: %s", gated, diff)
		}
	}
}
