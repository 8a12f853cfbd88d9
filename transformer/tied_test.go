package transformer_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestTied loads a table and a projection that the configuration ties to it, from a checkpoint that
// has one of them or both, and with adapters for one or both.
func TestTied(t *testing.T) {
	const rows, dim = 5, 3
	filled := func(x float32) []float32 { return slices.Repeat([]float32{x}, rows*dim) }
	tensor := func(x float32) safetensors.Tensor {
		return safetensors.Tensor{Shape: []int{rows, dim}, Data: filled(x)}
	}
	const table, head = "table.weight", "head.weight"
	other := brokenReader{tf.TensorMap{"other": tensor(9)}, ""}
	sum := tf.LowRank{Name: "sum", Left: filled(1)[:rows], Right: filled(1)[:dim], Rank: 1, Scale: 10} // adds 10
	sumOfBoth := sum
	sumOfBoth.Tied = true
	last := tf.Rows{Name: "rows", At: []int{rows - 1}, Values: filled(7)[:dim]}
	lastOfBoth := last
	lastOfBoth.Tied = true
	long := sum
	long.Magnitude = filled(0)[:rows] // length 0
	for name, c := range map[string]struct {
		tensors                       tf.TensorMap
		adapt                         func(l *tf.Loader) error
		vector, lastVector, out, last float32 // an element of the table's first and last vector, of the projection's
		matrices                      int
	}{
		"a table":                  {tf.TensorMap{table: tensor(1)}, nil, 1, 1, 1, 1, 1},
		"a projection":             {tf.TensorMap{head: tensor(2)}, nil, 2, 2, 2, 2, 1},
		"both, equal":              {tf.TensorMap{table: tensor(1), head: tensor(1)}, nil, 1, 1, 1, 1, 1},
		"both, not equal":          {tf.TensorMap{table: tensor(1), head: tensor(2)}, nil, 1, 1, 2, 2, 2},
		"a table that is replaced": {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { l.Replace(table, tf.Replacement{From: other, Name: "other"}); return nil }, 9, 9, 9, 9, 1},
		"a table that has a copy": {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error {
			l.Replace(table, tf.Replacement{From: other, Name: "other", Apart: true})
			return nil
		}, 9, 9, 1, 1, 2},
		"a projection's copy": {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error {
			l.Replace(head, tf.Replacement{From: other, Name: "other", Apart: true})
			return nil
		}, 1, 1, 9, 9, 2},
		"a copy, of a projection": {tf.TensorMap{head: tensor(2)}, func(l *tf.Loader) error {
			l.Replace(table, tf.Replacement{From: other, Name: "other", Apart: true})
			return nil
		}, 9, 9, 2, 2, 2},
		"added to the table":           {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.Add(table, sum) }, 11, 11, 1, 1, 2},
		"added to the projection":      {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.Add(head, sum) }, 1, 1, 11, 11, 2},
		"added to both":                {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.Add(table, sumOfBoth) }, 11, 11, 11, 11, 1},
		"a projection, added to table": {tf.TensorMap{head: tensor(2)}, func(l *tf.Loader) error { return l.Add(table, sum) }, 12, 12, 2, 2, 2},
		"rows of the table":            {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.SetRows(table, last) }, 1, 7, 1, 1, 2},
		"rows of the projection":       {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.SetRows(head, last) }, 1, 1, 1, 7, 2},
		"rows of both":                 {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.SetRows(table, lastOfBoth) }, 1, 7, 1, 7, 1},
		"a length of 0":                {tf.TensorMap{table: tensor(1)}, func(l *tf.Loader) error { return l.Add(head, long) }, 1, 1, 0, 0, 2},
	} {
		l := tf.NewLoader(brokenReader{c.tensors, ""})
		if c.adapt != nil {
			tftest.NoError(t, c.adapt(l))
		}
		vectors := l.At("table.").Embedding(rows, dim)
		out := l.At("head.").Tied(vectors, nil)
		matrices := len(l.Holdings())
		tftest.NoError(t, l.Finish())
		first, end, y := make([]float32, dim), make([]float32, dim), make([]float32, rows)
		vectors.Row(first, 0)
		vectors.Row(end, rows-1)
		var ws tf.Workspace
		tftest.NoError(t, out.Forward(&ws, y, []float32{1, 0, 0}))
		got := []float32{first[0], end[0], y[0], y[rows-1]}
		if want := []float32{c.vector, c.lastVector, c.out, c.last}; !slices.Equal(got, want) || matrices != c.matrices {
			t.Errorf("%s: vectors and outputs %v of %d matrices, want %v of %d", name, got, matrices, want, c.matrices)
		}
	}
}

// TestTiedMisfits is what no table and no projection can be made of.
func TestTiedMisfits(t *testing.T) {
	tensor := func(rows, dim int) safetensors.Tensor {
		return safetensors.Tensor{Shape: []int{rows, dim}, Data: make([]float32, rows*dim)}
	}
	for name, c := range map[string]struct {
		tensors tf.TensorMap
		rows    tf.Rows
		want    error
	}{
		"neither":            {tf.TensorMap{}, tf.Rows{}, fault.ErrMissing},
		"the head misshapen": {tf.TensorMap{"table.weight": tensor(5, 3), "head.weight": tensor(5, 2)}, tf.Rows{}, fault.ErrMisshapen},
		"the head alone":     {tf.TensorMap{"head.weight": tensor(4, 3)}, tf.Rows{}, fault.ErrMisshapen},
		"a row beyond":       {tf.TensorMap{"table.weight": tensor(5, 3)}, tf.Rows{At: []int{5}, Values: make([]float32, 3)}, fault.ErrMisshapen},
		"a row too short":    {tf.TensorMap{"table.weight": tensor(5, 3)}, tf.Rows{At: []int{1}, Values: make([]float32, 2)}, fault.ErrMisshapen},
		"parts of rows":      {tf.TensorMap{"table.weight": tensor(5, 3)}, tf.Rows{At: []int{1, 2}, Values: make([]float32, 5)}, fault.ErrShape},
		"a negative row":     {tf.TensorMap{"table.weight": tensor(5, 3)}, tf.Rows{At: []int{-1}, Values: make([]float32, 3)}, fault.ErrShape},
	} {
		l := tf.NewLoader(brokenReader{c.tensors, ""})
		var err error
		if c.rows.At != nil {
			err = l.SetRows("table.weight", c.rows)
		}
		l.At("head.").Tied(l.At("table.").Embedding(5, 3), nil)
		if err == nil {
			err = l.Finish()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// TestLeftOverAfterMissing is that a part of a model which is not made, since one before it lacks a
// tensor, leaves none over.
func TestLeftOverAfterMissing(t *testing.T) {
	one := safetensors.Tensor{Shape: []int{1}, Data: []float32{1}}
	load := func(names ...string) *tf.LoadError {
		tensors := tf.TensorMap{}
		for _, name := range names {
			tensors[name] = one
		}
		l := tf.NewLoader(tensors)
		for _, name := range []string{"a", "b", "c"} {
			if !l.Stopped() {
				l.Tensor(name, 1)
			}
		}
		var e *tf.LoadError
		if err := l.Finish(); !errors.As(err, &e) {
			t.Fatalf("%v: error %v", names, err)
		}
		return e
	}
	if e := load("b", "c"); !slices.Equal(e.Missing, []string{"a"}) || e.LeftOver != nil {
		t.Errorf("missing %v, left over %v", e.Missing, e.LeftOver)
	}
	if e := load("a", "b", "c", "d"); e.Missing != nil || !slices.Equal(e.LeftOver, []string{"d"}) {
		t.Errorf("missing %v, left over %v", e.Missing, e.LeftOver)
	}
	if e := load("a", "b", "d"); !slices.Equal(e.Missing, []string{"c"}) || !slices.Equal(e.LeftOver, []string{"d"}) {
		t.Errorf("missing %v, left over %v", e.Missing, e.LeftOver)
	}
}

// TestTiedRowsRefused is that rows of a table are refused where the projection that has them too
// has a bias, which peft leaves out, or gets something added, which peft does to the rows as well.
func TestTiedRowsRefused(t *testing.T) {
	sum := tf.LowRank{Name: "sum", Left: []float32{1, 1}, Right: []float32{1}, Rank: 1, Scale: 10}
	for _, c := range []struct {
		tied, added bool
		bias        []float32
		want        error
	}{
		{true, false, make([]float32, 2), fault.ErrConfig}, {false, false, make([]float32, 2), nil},
		{true, true, nil, fault.ErrConfig}, {false, true, nil, nil}, {true, false, nil, nil},
	} {
		l := tf.NewLoader(brokenReader{tf.TensorMap{"table.weight": {Shape: []int{2, 1}, Data: []float32{1, 2}}}, ""})
		tftest.NoError(t, l.SetRows("table.weight", tf.Rows{Name: "rows", At: []int{1}, Values: []float32{3}, Tied: c.tied}))
		if c.added {
			tftest.NoError(t, l.Add("head.weight", sum))
		}
		l.At("head.").Tied(l.At("table.").Embedding(2, 1), c.bias)
		if err := l.Finish(); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// TestTiedReplaced has tensors that take the place of a projection's, or of its table's too. One
// that is not a copy is the table's as well, where the two are one tensor.
func TestTiedReplaced(t *testing.T) {
	one := func(x float32) safetensors.Tensor {
		return safetensors.Tensor{Shape: []int{2, 1}, Data: []float32{x, x}}
	}
	from := tf.TensorMap{"a": one(5), "b": one(6), "own": one(1)}
	for _, c := range []struct {
		table, head           string // in from; empty: not replaced
		tableApart, headApart bool
		want                  error
	}{
		{"", "a", false, true, nil}, {"", "a", false, false, fault.ErrConfig}, {"", "own", false, false, nil}, {"a", "", false, false, nil},
		{"a", "a", false, false, nil}, {"b", "a", false, false, fault.ErrConfig}, {"b", "a", true, false, nil}, {"b", "a", true, true, nil},
	} {
		l := tf.NewLoader(brokenReader{tf.TensorMap{"table.weight": one(1)}, ""})
		if c.table != "" {
			l.Replace("table.weight", tf.Replacement{From: brokenReader{from, ""}, Name: c.table, Apart: c.tableApart})
		}
		if c.head != "" {
			l.Replace("head.weight", tf.Replacement{From: brokenReader{from, ""}, Name: c.head, Apart: c.headApart})
		}
		l.At("head.").Tied(l.At("table.").Embedding(2, 1), nil)
		if err := l.Finish(); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
