package transformer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// brokenReader is weights of which one tensor cannot be read.
type brokenReader struct {
	tf.TensorMap
	broken string
}

var errBroken = errors.New("broken disk")

func (b brokenReader) Shape(name string) ([]int, bool) {
	t, ok := b.TensorMap[name]
	return t.Shape, ok
}

func (brokenReader) Format(string) kernels.Format { return kernels.FormatF32 }

func (b brokenReader) Read(dst []float32, name string, from int) error {
	if name == b.broken {
		return errBroken
	}
	copy(dst, b.TensorMap[name].Data[from:])
	return nil
}

// TestUnreadableTensor is that errors of reading while weights are packed end loading.
func TestUnreadableTensor(t *testing.T) {
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	load := func(w tf.Weights) error {
		l := tf.NewLoader(w)
		e := l.At("table.").Embedding(40, 6)
		l.At("head.").Tied(e, nil)
		l.At("first.").Linear(6, 5, true)
		l.At("positions.").Embedding(9, 6)
		return l.Finish()
	}
	tftest.NoError(t, load(c))
	delete(c.Tensors, "head.weight")
	tftest.NoError(t, load(brokenReader{c.Tensors, ""}))
	for _, name := range []string{"table.weight", "first.weight", "first.bias", "positions.weight"} {
		if err := load(brokenReader{c.Tensors, name}); !errors.Is(err, errBroken) {
			t.Errorf("%s cannot be read: error %v", name, err)
		}
	}
}

// TestTablesOfManyRows: a table that is read in several pieces, alone and as the projection that is
// tied to it, has each row where it belongs, and a projection that differs anywhere is another one.
func TestTablesOfManyRows(t *testing.T) {
	const rows, dim = 3000, 64
	data := make([]float32, rows*dim)
	for i := range data {
		data[i] = float32(i / dim) // a row's number
	}
	tensors := tf.TensorMap{"table.weight": {Shape: []int{rows, dim}, Data: data}}
	for _, tied := range []bool{false, true} {
		l := tf.NewLoader(brokenReader{tensors, ""})
		e := l.At("table.").Embedding(rows, dim)
		var head *tf.Linear
		if tied {
			head = l.At("head.").Tied(e, nil)
		}
		tftest.NoError(t, l.Finish())
		row := make([]float32, dim)
		for i := range rows {
			if e.Row(row, i); row[0] != float32(i) || row[dim-1] != float32(i) {
				t.Fatalf("tied %t: row %d is %v, %v", tied, i, row[0], row[dim-1])
			}
		}
		if tied {
			var ws tf.Workspace
			x, y := make([]float32, dim), make([]float32, rows)
			x[3] = 1
			tftest.NoError(t, head.Forward(&ws, y, x))
			for i, v := range y {
				if v != float32(i) {
					t.Fatalf("output %d of the tied projection is %v", i, v)
				}
			}
		}
	}
	other := append([]float32(nil), data...)
	other[len(other)-1]++
	both := tf.TensorMap{"table.weight": tensors["table.weight"], "head.weight": {Shape: []int{rows, dim}, Data: other}}
	l := tf.NewLoader(brokenReader{both, ""})
	l.At("head.").Tied(l.At("table.").Embedding(rows, dim), nil)
	if held := l.Holdings(); len(held) != 2 {
		t.Errorf("another last row: %d weights are held, want 2", len(held))
	}
	tftest.NoError(t, l.Finish())
}

// TestImpossiblePart is that a part which cannot be made is reported alone: what it would have
// asked for is not left over.
func TestImpossiblePart(t *testing.T) {
	w := tf.TensorMap{"weight": {Shape: []int{2}, Data: []float32{1, 2}}}
	_, err := tf.NewNorm(tf.NormConfig{Shape: []int{2}}, w, "")
	if !errors.Is(err, fault.ErrConfig) || errors.Is(err, fault.ErrLeftOver) || strings.Contains(err.Error(), "do not fit") {
		t.Errorf("normalization without eps: error %v, want ErrConfig alone", err)
	}
	if _, err = tf.NewNorm(tf.NormConfig{Shape: []int{2}, Eps: 1, RMS: true}, tf.TensorMap{"weight": w["weight"], "more": w["weight"]}, ""); !errors.Is(err, fault.ErrLeftOver) || !strings.Contains(err.Error(), "do not fit") {
		t.Errorf("a tensor too many: error %v, want ErrLeftOver", err)
	}
}

// TestPartsBeyond asks for rows of a tensor that it has not.
func TestPartsBeyond(t *testing.T) {
	for _, c := range []struct {
		part tf.Part
		want error
	}{
		{tf.Part{Rows: 2, From: 2, Of: 4}, nil},
		{tf.Part{Rows: 2, From: 3, Of: 4}, fault.ErrConfig},
		{tf.Part{Rows: 5, Of: 4}, fault.ErrConfig},
		{tf.Part{Rows: 2, From: -1, Of: 4}, fault.ErrConfig},
		{tf.Part{From: 1, Of: 4}, fault.ErrConfig},
	} {
		l := tf.NewLoader(tf.TensorMap{"weight": {Shape: []int{4, 3}, Data: make([]float32, 12)}, "bias": {Shape: []int{4}, Data: make([]float32, 4)}})
		l.Stacked(3, true, c.part)
		if err := l.Finish(); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v, want %v", c.part, err, c.want)
		}
	}
}

// TestRenames: a name goes through the functions of all calls of Rename, that of the last call
// first, and errors have the checkpoint's name.
func TestRenames(t *testing.T) {
	w := tf.TensorMap{"model.text.proj.weight": {Shape: []int{1, 2}, Data: []float32{3, 5}}}
	l := tf.NewLoader(w)
	l.Rename(func(name string) string { return "model." + name })
	l.At("inner.").Rename(func(name string) string { return "text." + name })
	if !l.Has("proj.weight") || l.Has("text.proj.weight") || l.Has("model.proj.weight") {
		t.Error("names do not go through both functions, the last one first")
	}
	l.At("proj.").Linear(2, 1, false)
	tftest.NoError(t, l.Finish())
	l.At("other.").Linear(2, 1, false)
	if err := l.Finish(); err == nil || !strings.Contains(err.Error(), "model.text.other.weight") {
		t.Errorf("error %v, want one that names model.text.other.weight", err)
	}
}
