package transformer_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// sequence is a history and the rows that it should have.
type sequence struct {
	history *tf.History
	rows    []float32
}

// TestHistories appends rows to several histories at a time, forks, truncates and releases them in
// any order, and compares what new rows become with a pass of all rows of the sequence.
func TestHistories(t *testing.T) {
	s := newStack(t, twinLayers()["rotary halves"])
	mask := tf.Causal()
	for name, windows := range map[string][]int{"no window": nil, "window": {9}, "one layer with a window": {9, 0}} {
		if windows != nil {
			mask = tf.SlidingWindow(9)
		}
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, 22))
			pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4, Windows: windows}))(t)
			ws := new(tf.Workspace)
			all := []*sequence{{history: pages.New()}}
			for step := range 300 {
				at := r.IntN(len(all))
				q := all[at]
				switch kind := r.IntN(8); {
				case kind < 4: // some of them go on
					var step []*sequence
					var histories []*tf.History
					var lengths []int
					for _, q := range all {
						if n := min(r.IntN(7), 80-q.history.Len()); r.IntN(2) == 0 {
							step, histories, lengths = append(step, q), append(histories, q.history), append(lengths, n)
						}
					}
					if len(step) > 0 {
						advance(t, s, ws, r, mask, step, histories, lengths)
					}
				case kind == 4 && len(all) < 8:
					// A page's rows can be taken back, and of windows no more for certain.
					n := max(0, q.history.Len()-r.IntN(5))
					f := tftest.Must(q.history.Fork(n))(t)
					all = append(all, &sequence{f, slices.Clone(q.rows[:n*s.Dim])})
				case kind == 5:
					n := max(0, q.history.Len()-r.IntN(5))
					tftest.NoError(t, q.history.Truncate(n))
					q.rows = q.rows[:n*s.Dim]
				case kind == 6 && len(q.rows) > 70*s.Dim:
					q.history.Release()
					q.rows = nil
				case kind == 7 && len(all) > 1:
					q.history.Release()
					all = slices.Delete(all, at, at+1)
				}
				if step == 299 {
					for _, q := range all {
						q.history.Release()
					}
				}
			}
			if used := pages.Used(); used != 0 || pages.Peak() == 0 {
				t.Errorf("%d bytes are in use after all, %d at most", used, pages.Peak())
			}
		})
	}
}

// advance passes new rows of several sequences, and compares each with a pass of all its rows.
func advance(t *testing.T, s *tf.Stack, ws *tf.Workspace, r *rand.Rand, mask *tf.Mask, step []*sequence, histories []*tf.History, lengths []int) {
	t.Helper()
	batch := tf.Ragged(lengths...)
	x := tftest.Normal(r.Uint64(), batch.Rows()*s.Dim)
	y := make([]float32, len(x))
	tftest.NoError(t, s.Forward(ws, y, tf.LayerInput{X: x, Batch: batch, Mask: mask}, tf.NewCacheOf(histories...)))
	for i, q := range step {
		from, to := batch.Start(i)*s.Dim, batch.Start(i+1)*s.Dim
		q.rows = append(q.rows, x[from:to]...)
		if q.history.Len()*s.Dim != len(q.rows) {
			t.Fatalf("a history of %d rows, want %d", q.history.Len(), len(q.rows)/s.Dim)
		}
		if from == to {
			continue
		}
		want := stackForward(t, s, tf.LayerInput{X: q.rows, Batch: tf.Uniform(1, len(q.rows)/s.Dim), Mask: mask})
		if text := tftest.Mismatch(y[from:to], want[len(want)-(to-from):], func(int, float64) float64 { return 1e-4 }); text != "" {
			t.Fatalf("%d rows after %d: %s", lengths[i], q.history.Len()-lengths[i], text)
		}
	}
}

// TestHistoryAlone: a sequence gets the same bits alone and among others, fed in the same pieces.
func TestHistoryAlone(t *testing.T) {
	l := tf.NewLoader(tf.Random(4))
	s := l.Stack(tf.StackConfig{Layers: 2, Layer: twinLayers()["rotary neighbours"]}, tf.StackNames{Layers: "%d.", Layer: layerNames})
	tftest.NoError(t, l.Finish())
	for _, f := range []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8} {
		const n = 6
		feed := func(which ...int) [][]float32 {
			r := rand.New(rand.NewPCG(1, 2))
			pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 8, Format: f}))(t)
			cache, ws, out := pages.Cache(len(which)), &tf.Workspace{Threads: 2}, make([][]float32, n)
			for range 5 {
				var x []float32
				lengths := make([]int, len(which))
				pieces := make([][]float32, n)
				for i := range n {
					pieces[i] = tftest.Normal(r.Uint64(), (1+r.IntN(12))*s.Dim)
				}
				for i, w := range which {
					lengths[i] = len(pieces[w]) / s.Dim
					x = append(x, pieces[w]...)
				}
				batch, y := tf.Ragged(lengths...), make([]float32, len(x))
				tftest.NoError(t, s.Forward(ws, y, tf.LayerInput{X: x, Batch: batch, Mask: tf.Causal()}, cache))
				for i, w := range which {
					out[w] = append(out[w], y[batch.Start(i)*s.Dim:batch.Start(i+1)*s.Dim]...)
				}
			}
			return out
		}
		together := feed(0, 1, 2, 3, 4, 5)
		for i := range n {
			if !slices.Equal(feed(i)[i], together[i]) {
				t.Errorf("%v: sequence %d has other bits alone", f, i)
			}
		}
	}
}

// TestPagesLimit: where the limit does not allow more rows it is an error, after which everything
// goes on. TestInt8Bytes: keys and values in int8 take no more than in q8_0, which has 34 bytes for
// 32 numbers, where a head has at least 64: what is stated for a row, and what the pages of full
// histories use.
func TestInt8Bytes(t *testing.T) {
	const texts, rows, kvHeads = 3, 2 * tf.PageRows, 2
	for _, headDim := range []int{64, 80, 128, 256} {
		s := newStack(t, tf.LayerConfig{Self: tf.AttentionConfig{Dim: 16, Heads: 4, KVHeads: kvHeads, HeadDim: headDim},
			FeedForward: tf.FeedForwardConfig{Hidden: 16, Activation: kernels.ActGELU}, Norm: tf.NormConfig{Eps: 1e-6, RMS: true}, NormFirst: true})
		pages := tftest.Must(tf.NewPages(tf.PagesConfig{Format: kernels.FormatInt8}))(t)
		x := tftest.Normal(3, texts*rows*s.Dim)
		tftest.NoError(t, s.Forward(new(tf.Workspace), make([]float32, len(x)), tf.LayerInput{X: x, Batch: tf.Uniform(texts, rows), Mask: tf.Causal()}, pages.Cache(texts)))
		row := s.Layers[0].CacheBytes(kernels.FormatInt8)
		if q8 := int64(2 * kvHeads * headDim * 34 / 32); row > q8 {
			t.Errorf("heads of %d: %d bytes for a row, %d in q8_0", headDim, row, q8)
		}
		if want := row * texts * rows * int64(len(s.Layers)); pages.Used() != want {
			t.Errorf("heads of %d: pages use %d bytes, want %d", headDim, pages.Used(), want)
		}
	}
}

func TestPagesLimit(t *testing.T) {
	s := newStack(t, twinLayers()["pre-norm GELU"])
	ws := new(tf.Workspace)
	const rows = 4
	page := int64(len(s.Layers) * 2 * rows * s.Dim * 4)
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: rows, Limit: 5 * page}))(t)
	feed := func(n int, histories ...*tf.History) error {
		x := tftest.Normal(3, len(histories)*n*s.Dim)
		return s.Forward(ws, make([]float32, len(x)), tf.LayerInput{X: x, Batch: tf.Uniform(len(histories), n), Mask: tf.Causal()}, tf.NewCacheOf(histories...))
	}
	a, b := pages.New(), pages.New()
	tftest.NoError(t, feed(rows, a, b))
	if pages.Used() != 2*page {
		t.Fatalf("%d bytes in use, want %d", pages.Used(), 2*page)
	}
	for range 3 {
		if err := feed(2*rows, a, b); !errors.Is(err, fault.ErrMemory) || pages.Used() != 2*page || a.Len() != rows || b.Len() != rows {
			t.Fatalf("%v, %d bytes in use, %d and %d rows", err, pages.Used(), a.Len(), b.Len())
		}
	}
	tftest.NoError(t, feed(3*rows, a))
	b.Release()
	tftest.NoError(t, feed(rows, a))
	if err := feed(1, b); !errors.Is(err, fault.ErrMemory) {
		t.Errorf("one row more: %v", err)
	}
	tftest.NoError(t, a.Truncate(rows))
	tftest.NoError(t, feed(1, b))
	for _, c := range []tf.PagesConfig{{Rows: -1}, {Limit: -1}, {Format: kernels.FormatQ8_0}} {
		if _, err := tf.NewPages(c); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	other := tftest.Must(tf.NewPages(tf.PagesConfig{}))(t)
	if err := feed(1, a, other.New()); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("histories of two pools: %v", err)
	}
	if _, err := a.Fork(a.Len() + 1); !errors.Is(err, fault.ErrShape) {
		t.Errorf("a fork of more rows than there are: %v", err)
	}
	if err := a.Truncate(-1); !errors.Is(err, fault.ErrShape) {
		t.Errorf("less than no rows: %v", err)
	}
}

// TestDroppedRows: what a window has dropped is not there to go back to, but a page's rows are.
func TestDroppedRows(t *testing.T) {
	s := newStack(t, twinLayers()["pre-norm GELU"])
	const rows, window = 8, 5
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: rows, Windows: []int{window}}))(t)
	h := pages.New()
	for i := range 100 {
		tftest.NoError(t, s.Forward(new(tf.Workspace), make([]float32, s.Dim), tf.LayerInput{X: tftest.Normal(uint64(i), s.Dim), Batch: tf.Uniform(1, 1), Mask: tf.SlidingWindow(window)}, tf.NewCacheOf(h)))
		if f, err := h.Fork(max(0, h.Len()-rows)); err != nil {
			t.Fatalf("after %d rows: %v", h.Len(), err)
		} else {
			f.Release()
		}
	}
	if _, err := h.Fork(50); !errors.Is(err, fault.ErrShape) {
		t.Errorf("a fork of rows that are gone: %v", err)
	}
	if _, err := h.Fork(0); !errors.Is(err, fault.ErrShape) {
		t.Errorf("a fork of no rows: %v", err)
	}
}

// TestForksInParallel: histories that share pages may be used by a goroutine each.
func TestForksInParallel(t *testing.T) {
	s := newStack(t, twinLayers()["decoder"])
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4}))(t)
	memory := tftest.Normal(3, 11*20)
	feed := func(h *tf.History, seed uint64, n int) []float32 {
		x := tftest.Normal(seed, n*s.Dim)
		y := make([]float32, len(x))
		in := tf.LayerInput{X: x, Batch: tf.Uniform(1, n), Mask: tf.Causal()}
		if h.Len() == 0 {
			in.Memory, in.MemoryBatch = memory, tf.Uniform(1, 11)
		}
		if err := s.Forward(new(tf.Workspace), y, in, tf.NewCacheOf(h)); err != nil {
			t.Error(err)
		}
		return y
	}
	run := func(h *tf.History, seed uint64) (y []float32) {
		for i := range 20 {
			y = feed(h, seed+uint64(i), 1+i%3)
		}
		return y
	}
	first := pages.New()
	feed(first, 1, 6)
	var wg sync.WaitGroup
	got := make([][]float32, 4)
	for i := range got {
		f := tftest.Must(first.Fork(6))(t)
		wg.Go(func() { got[i] = run(f, uint64(100*i)); f.Release() })
	}
	wg.Wait()
	for i := range got {
		alone := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4}))(t).New()
		feed(alone, 1, 6)
		if !slices.Equal(run(alone, uint64(100*i)), got[i]) {
			t.Errorf("fork %d differs from a sequence by itself", i)
		}
	}
	first.Release()
	if pages.Used() != 0 {
		t.Errorf("%d bytes are in use", pages.Used())
	}
}

// TestReorderCopiesNothing: a step of beam search takes no more pages than the rows that differ.
func TestReorderCopiesNothing(t *testing.T) {
	s := newStack(t, twinLayers()["pre-norm GELU"])
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 8}))(t)
	page := int64(len(s.Layers) * 2 * 8 * s.Dim * 4)
	ws := new(tf.Workspace)
	prompt := pages.New()
	tftest.NoError(t, s.Forward(ws, make([]float32, 80*s.Dim), tf.LayerInput{X: tftest.Normal(1, 80*s.Dim), Batch: tf.Uniform(1, 80), Mask: tf.Causal()}, tf.NewCacheOf(prompt)))
	cache := tftest.Must(tf.NewCacheOf(prompt).Continue(0, 4))(t)
	for i := range 6 {
		tftest.NoError(t, s.Forward(ws, make([]float32, 4*s.Dim), tf.LayerInput{X: tftest.Normal(uint64(i), 4*s.Dim), Batch: tf.Uniform(4, 1), Mask: tf.Causal()}, cache))
		tftest.NoError(t, cache.Reorder([]int{i % 4, 0, 0, 3}))
	}
	if most := (10 + 2*4) * page; pages.Peak() > most {
		t.Errorf("%d bytes at most, want %d: 10 pages of the prompt, and two of each beam at a time", pages.Peak(), most)
	}
}

// TestHistoryAllocations: a step of sequences that have been there allocates nothing.
func TestHistoryAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	s := newStack(t, twinLayers()["pre-norm GELU"])
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 512}))(t)
	cache, ws := pages.Cache(3), new(tf.Workspace)
	x, y := tftest.Normal(1, 3*s.Dim), make([]float32, 3*s.Dim)
	in := tf.LayerInput{X: x, Batch: tf.Uniform(3, 1), Mask: tf.Causal()}
	if n := testing.AllocsPerRun(100, func() { tftest.NoError(t, s.Forward(ws, y, in, cache)) }); n != 0 {
		t.Errorf("%g allocations a step", n)
	}
}
