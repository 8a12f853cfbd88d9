package transformer_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

const recurrentWidth = 3

// decaying returns a recurrence that halves its state and adds the row; out gets the state after
// each row of a batch.
func decaying(out []float32, fail *error) tf.Recurrence {
	const n = recurrentWidth
	return tf.Recurrence{Size: n, Width: n, Step: func(to, from, inputs []float32, first int) error {
		if *fail != nil {
			return *fail
		}
		copy(to, from)
		for r := range len(inputs) / n {
			for i, x := range inputs[r*n:][:n] {
				to[i] = float32(to[i]*0.5) + x
			}
			if first >= 0 {
				copy(out[(first+r)*n:], to)
			}
		}
		return nil
	}}
}

// recurred returns the state after all rows.
func recurred(rows []float32) [recurrentWidth]float32 {
	var s [recurrentWidth]float32
	for i, x := range rows {
		s[i%recurrentWidth] = float32(s[i%recurrentWidth]*0.5) + x
	}
	return s
}

// TestRecurrenceHistories feeds rows of several sequences at a time through two layers, forks,
// truncates and releases histories in any order, has passes fail, and compares each state with that
// of the whole sequence.
func TestRecurrenceHistories(t *testing.T) {
	const n, layers = recurrentWidth, 2
	type sequence struct {
		history *tf.History
		rows    []float32
		back    int // rows that can be taken back
	}
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4}))(t)
	r, ws := rand.New(rand.NewPCG(5, 1)), new(tf.Workspace)
	all := []*sequence{{history: pages.New()}}
	failed := errors.New("no")
	for step := range 600 {
		at := r.IntN(len(all))
		q := all[at]
		rows := len(q.rows)/n - r.IntN(q.back+1)
		switch kind := r.IntN(8); {
		case kind < 5:
			var histories []*tf.History
			var lengths []int
			for _, q := range all {
				histories, lengths = append(histories, q.history), append(lengths, r.IntN(4))
			}
			batch, cache := tf.Ragged(lengths...), tf.NewCacheOf(histories...)
			apart := make([]bool, len(all))
			for i := range all {
				if apart[i] = r.IntN(2) == 0; apart[i] {
					cache.Apart(i)
				}
			}
			x, y := tftest.Normal(r.Uint64(), batch.Rows()*n), make([]float32, batch.Rows()*n)
			var fail error
			tftest.NoError(t, cache.Begin(batch, layers))
			for layer := range layers {
				if layer == layers-1 && r.IntN(4) == 0 {
					fail = failed
				}
				if err := decaying(y, &fail).Forward(ws, x, batch, cache.Layer(layer)); batch.Rows() > 0 && !errors.Is(err, fail) {
					t.Fatal(err)
				}
			}
			if fail != nil {
				continue // what the pass has added does not count
			}
			cache.End(batch)
			for i, q := range all {
				for j := range lengths[i] {
					row := batch.Start(i) + j
					q.rows = append(q.rows, x[row*n:][:n]...)
					if want := recurred(q.rows); !slices.Equal(y[row*n:][:n], want[:]) {
						t.Fatalf("step %d, sequence %d: state %v after %d rows, want %v", step, i, y[row*n:][:n], len(q.rows)/n, want)
					}
				}
				if lengths[i] > 0 {
					if q.back = 0; apart[i] {
						q.back = lengths[i]
					}
				}
			}
		case kind == 5 && len(all) < 5:
			all = append(all, &sequence{tftest.Must(q.history.Fork(rows))(t), slices.Clone(q.rows[:rows*n]), q.back - (len(q.rows)/n - rows)})
		case kind == 6:
			tftest.NoError(t, q.history.Truncate(rows))
			q.back -= len(q.rows)/n - rows
			q.rows = q.rows[:rows*n]
		case kind == 7 && len(all) > 1:
			q.history.Release()
			all = slices.Delete(all, at, at+1)
		}
	}
	for _, q := range all {
		q.history.Release()
	}
	if used := pages.Used(); used != 0 || pages.Peak() == 0 {
		t.Errorf("%d bytes are in use after all, %d at most", used, pages.Peak())
	}
}

// TestRecurrenceErrors asks for states that are gone or do not fit, and for more than the limit.
func TestRecurrenceErrors(t *testing.T) {
	const n, size = recurrentWidth, 4 * recurrentWidth
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4, Limit: 3 * size}))(t)
	cache, ws, x := pages.Cache(1), new(tf.Workspace), make([]float32, 4*n)
	var none error
	pass := func(r tf.Recurrence, rows int) error {
		batch := tf.Uniform(1, rows)
		if err := cache.Begin(batch, 1); err != nil {
			return err
		}
		if err := r.Forward(ws, x[:rows*n], batch, cache.Layer(0)); err != nil {
			return err
		}
		cache.End(batch)
		return nil
	}
	r := decaying(make([]float32, len(x)), &none)
	tftest.NoError(t, pass(r, 4))
	if used := pages.Used(); used != size {
		t.Errorf("one state takes %d bytes, want %d", used, size)
	}
	h := cache.History(0)
	if _, err := h.Fork(3); !errors.Is(err, fault.ErrShape) {
		t.Errorf("fork of a state that is gone: %v, want ErrShape", err)
	}
	if err := h.Truncate(2); !errors.Is(err, fault.ErrShape) || h.Len() != 4 {
		t.Errorf("truncate to a state that is gone: %v and %d rows, want ErrShape and 4", err, h.Len())
	}
	if err := r.Forward(ws, x[1:], tf.Uniform(1, 4), nil); !errors.Is(err, fault.ErrShape) {
		t.Errorf("part of a row: %v, want ErrShape", err)
	}
	for name, change := range map[string]func(*tf.Recurrence){
		"no size": func(r *tf.Recurrence) { r.Size = 0 }, "no width": func(r *tf.Recurrence) { r.Width = 0 }, "no step": func(r *tf.Recurrence) { r.Step = nil },
	} {
		bad := r
		if change(&bad); !errors.Is(bad.Forward(ws, x, tf.Uniform(1, 4), nil), fault.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, bad.Forward(ws, x, tf.Uniform(1, 4), nil))
		}
	}
	var more []*tf.History
	for range 3 {
		more = append(more, tftest.Must(h.Fork(4))(t))
	}
	if used := pages.Used(); used != size {
		t.Errorf("a state that four histories share takes %d bytes, want %d", used, size)
	}
	cache = tf.NewCacheOf(more...)
	batch := tf.Uniform(3, 1)
	if err := cache.Begin(batch, 1); !errors.Is(err, fault.ErrMemory) {
		t.Errorf("four states with a limit of three: %v, want ErrMemory", err)
	}
	cache = tf.NewCacheOf(more[:2]...)
	tftest.NoError(t, cache.Begin(tf.Uniform(2, 1), 1))
	tftest.NoError(t, r.Forward(ws, x[:2*n], tf.Uniform(2, 1), cache.Layer(0)))
	cache.End(tf.Uniform(2, 1))
	tftest.NoError(t, h.Truncate(0))
	for _, h := range more {
		h.Release()
	}
	cache = tf.NewCacheOf(h)
	tftest.NoError(t, pass(r, 1))
	wide := r
	wide.Size++
	if err := pass(wide, 1); !errors.Is(err, fault.ErrShape) {
		t.Errorf("another size: %v, want ErrShape", err)
	}
}
