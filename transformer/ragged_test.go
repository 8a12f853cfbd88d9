package transformer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestMaskOfRaggedBatch gives masks with data, padded to the longest sequence, to a batch of
// different lengths.
func TestMaskOfRaggedBatch(t *testing.T) {
	a := tf.Attention{Heads: 2, HeadDim: 4}
	lengths := []int{3, 6, 2}
	const heads, longest = 2, 6
	r := rand.New(rand.NewPCG(3, 3))
	keep, bias := make([]bool, 3*heads*longest*longest), tftest.Normal(9, 3*heads*longest*longest)
	for i := range keep {
		keep[i] = r.IntN(3) > 0
	}
	perQuery := make([]int, 3*longest)
	for i := range perQuery {
		perQuery[i] = 1 + r.IntN(2)
	}
	column := tftest.Normal(8, longest) // of all queries of all sequences
	batch := tf.Ragged(lengths...)
	x := tftest.Normal(1, batch.Rows()*8)
	y := make([]float32, len(x))
	mask := tf.KeepMask(keep, 3, heads, longest, longest).And(tf.AdditiveMask(bias, 3, heads, longest, longest)).
		And(tf.ValidLengthsPerQuery(perQuery, longest)).And(tf.ALiBi(tf.ALiBiSlopes(heads)...)).And(tf.AdditiveMask(column, 1, 1, 1, longest))
	tftest.NoError(t, a.Forward(new(tf.Workspace), y, tf.AttentionInput{Query: x, Batch: batch, Mask: mask}))
	for i, n := range lengths { // each alone, with its own part of the mask
		var k []bool
		var b []float32
		for h := range heads {
			for q := range n {
				at := ((i*heads+h)*longest + q) * longest
				k, b = append(k, keep[at:at+n]...), append(b, bias[at:at+n]...)
			}
		}
		mask := tf.KeepMask(k, 1, heads, n, n).And(tf.AdditiveMask(b, 1, heads, n, n)).
			And(tf.ValidLengthsPerQuery(perQuery[i*longest:i*longest+n], n)).And(tf.ALiBi(tf.ALiBiSlopes(heads)...)).And(tf.AdditiveMask(column[:n], 1, 1, 1, n))
		from, to := batch.Start(i)*8, batch.Start(i+1)*8
		want := make([]float32, to-from)
		tftest.NoError(t, a.Forward(new(tf.Workspace), want, tf.AttentionInput{Query: x[from:to], Batch: tf.Uniform(1, n), Mask: mask}))
		if text := tftest.Mismatch(y[from:to], want, func(int, float64) float64 { return 1e-6 }); text != "" {
			t.Errorf("sequence %d: %s", i, text)
		}
	}
}

// TestWeightsOfRaggedBatch captures the weights and scores of runs of sequences, whose heads share
// keys, and compares each sequence with itself alone.
func TestWeightsOfRaggedBatch(t *testing.T) {
	a := tf.Attention{Heads: 6, KVHeads: 2, HeadDim: 4}
	const dim, kvDim = 6 * 4, 2 * 4
	batch := tf.Ragged(3, 3, 5, 5, 2)
	total := 6 * (2*9 + 2*25 + 4)
	run := func(q, k []float32, batch tf.Batch, size int) (weights, scores []float32) {
		weights, scores = make([]float32, size), make([]float32, size)
		tftest.NoError(t, a.Forward(new(tf.Workspace), make([]float32, len(q)), tf.AttentionInput{
			Query: q, Batch: batch, Key: k, KeyBatch: batch, Weights: weights, Scores: scores,
		}))
		return weights, scores
	}
	q, k := tftest.Normal(1, batch.Rows()*dim), tftest.Normal(2, batch.Rows()*kvDim)
	weights, scores := run(q, k, batch, total)
	for i := range batch.Len() {
		from, to, n := batch.Start(i), batch.Start(i+1), batch.Length(i)
		size := 6 * n * n
		w, s := run(q[from*dim:to*dim], k[from*kvDim:to*kvDim], tf.Uniform(1, n), size)
		for h := range 6 { // the scores as they are defined
			want := float32(0)
			for d := range 4 {
				want += q[from*dim+h*4+d] * k[(from+1)*kvDim+h/3*4+d] / 2
			}
			if got := s[h*n*n+1]; !(math.Abs(float64(got-want)) <= 1e-5) {
				t.Errorf("sequence %d, head %d: score %v, want %v", i, h, got, want)
			}
		}
		for _, c := range [][2][]float32{{weights, w}, {scores, s}} {
			if text := tftest.Mismatch(c[0][:size], c[1], func(int, float64) float64 { return 1e-5 }); text != "" {
				t.Errorf("sequence %d: %s", i, text)
			}
		}
		weights, scores = weights[size:], scores[size:]
	}
}

// TestEmptyRowsOfBoth joins masks that treat empty rows differently.
func TestEmptyRowsOfBoth(t *testing.T) {
	zero, uniform := tf.ValidLengths(0), classic.D2LMask(0)
	for _, c := range []struct {
		mask *tf.Mask
		want float32
	}{{zero.And(uniform), 0}, {uniform.And(zero), 2}} {
		y := make([]float32, 2)
		tftest.NoError(t, tf.Attention{Heads: 1, HeadDim: 1}.Forward(new(tf.Workspace), y, tf.AttentionInput{Query: []float32{1, 3}, Batch: tf.Uniform(1, 2), Mask: c.mask}))
		if y[0] != c.want || y[1] != c.want {
			t.Errorf("rows that see nothing give %v, want %v", y, c.want)
		}
	}
}

// TestBatch has lengths that are equal, different, none and negative.
func TestBatch(t *testing.T) {
	for _, c := range []struct {
		batch          tf.Batch
		len, rows, max int
		starts         []int
	}{
		{tf.Batch{}, 0, 0, 0, []int{0}}, {tf.Ragged(), 0, 0, 0, []int{0}}, {tf.Uniform(2, 3), 2, 6, 3, []int{0, 3, 6}},
		{tf.Ragged(3, 3), 2, 6, 3, []int{0, 3, 6}}, {tf.Ragged(3, -1, 5), 3, 8, 5, []int{0, 3, 3, 8}},
		{tf.Ragged(-1, -1), 2, 0, 0, []int{0, 0, 0}}, {tf.Uniform(-2, 3), 0, 0, 0, []int{0}}, {tf.Uniform(2, -3), 2, 0, 0, []int{0, 0, 0}},
	} {
		var starts []int
		for i := range c.batch.Len() + 1 {
			starts = append(starts, c.batch.Start(i))
		}
		if b := c.batch; b.Len() != c.len || b.Rows() != c.rows || b.MaxLength() != c.max || !slices.Equal(starts, c.starts) {
			t.Errorf("%+v: %d sequences, %d rows, longest %d, starts %v, want %+v", b, b.Len(), b.Rows(), b.MaxLength(), starts, c)
		}
	}
}

// TestRaggedCost passes sequences of lengths 10, 40 and 100 in one batch, which must take no more
// than their rows' share of the time of full batches.
func TestRaggedCost(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("measures time")
	}
	layer := classic.TorchConfig{Dim: 256, Heads: 4, EncoderLayers: 1, DecoderLayers: 1, FeedForward: 1024, Activation: kernels.ActGELU, NormFirst: false}.Transformer().Encoder
	layer.Layers = 2
	s := tftest.Must(tf.NewStack(layer, classic.TorchEncoder(), tf.Random(1), ""))(t)
	ws := new(tf.Workspace)
	pass := func(batch tf.Batch) func() {
		x := tftest.Normal(1, batch.Rows()*s.Dim)
		y := make([]float32, len(x))
		return func() { tftest.NoError(t, s.Forward(ws, y, tf.LayerInput{X: x, Batch: batch}, nil)) }
	}
	ragged := pass(tf.Ragged(10, 40, 100))
	// What real tokens cost: each sequence alone, as a batch of its own.
	alone := []func(){pass(tf.Uniform(1, 10)), pass(tf.Uniform(1, 40)), pass(tf.Uniform(1, 100))}
	padded := pass(tf.Uniform(3, 100))
	best := func(f func()) time.Duration {
		least := time.Hour
		for range 30 {
			start := time.Now()
			f()
			least = min(least, time.Since(start))
		}
		return least
	}
	ragged() // warm up
	var ratio float64
	for try := range 8 { // other work on the machine may disturb some
		tight, full := best(ragged), best(padded)
		real := best(func() {
			for _, f := range alone {
				f()
			}
		})
		ratio = float64(tight) / float64(real)
		t.Logf("try %d: lengths 10, 40, 100 together %v, one by one %v (ratio %.2f), padded to 100 %v", try, tight, real, ratio, full)
		if ratio <= 1.15 {
			return
		}
	}
	t.Errorf("the batch takes %.2f times its real tokens, want at most 1.15", ratio)
}
