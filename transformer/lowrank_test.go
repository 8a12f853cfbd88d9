package transformer_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// sum is w, [rows, cols], with what d adds; stored [cols, rows] if transposed.
func sum(w tf.TensorMap, name string, d tf.LowRank, transposed bool) {
	t := w[name]
	rows, cols := len(d.Left)/d.Rank, len(d.Right)/d.Rank
	data := append([]float32(nil), t.Data...)
	for r := range rows {
		for c := range cols {
			x := 0.0
			for k := range d.Rank {
				x += float64(d.Left[r*d.Rank+k]) * float64(d.Right[k*cols+c])
			}
			at := r*cols + c
			if transposed {
				at = c*rows + r
			}
			data[at] += d.Scale * float32(x)
		}
	}
	t.Data = data
	w[name] = t
}

// TestLowRank adds to tensors of every use, as files and in memory, and compares with weights that
// have the sum.
func TestLowRank(t *testing.T) {
	const in, out = 300, 200 // so that rows are read in several pieces
	lowRank := func(seed uint64, rows, cols, rank int, scale float32) tf.LowRank {
		return tf.LowRank{Name: "adapter", Left: tftest.Normal(seed, rows*rank), Right: tftest.Normal(seed+1, rank*cols), Rank: rank, Scale: scale}
	}
	added := map[string]tf.LowRank{
		"a.weight": lowRank(1, out, in, 3, 0.5), "both.weight": lowRank(3, 2*out, in, 2, -1), "conv.weight": lowRank(5, out, in, 5, 2),
		"square.weight": lowRank(7, in, in, 2, 1), "table.weight": lowRank(9, out, in, 4, 0.25), "whole.weight": lowRank(11, out, in, 1, 3),
	}
	// load gives what the model has of all of them.
	load := func(w tf.Weights, add bool) [][]float32 {
		l := tf.NewLoader(w)
		for name, d := range added {
			if add {
				tftest.NoError(t, l.Add(name, d))
			}
		}
		stacked := l.Stacked(in, false, tf.Part{Name: "b.", Rows: 7}, tf.Part{Name: "both.", Rows: out, From: out, Of: 2 * out, Scale: 2}, tf.Part{Name: "a.", Rows: out})
		linear := []*tf.Linear{stacked, l.Transposed().At("conv.").Linear(in, out, false), l.Transposed().At("square.").Linear(in, in, false)}
		table := l.At("table.").Embedding(out, in)
		got := [][]float32{l.Tensor("whole.weight", out, in)}
		tftest.NoError(t, l.Finish())
		for _, p := range linear {
			got = append(got, p.Weight())
		}
		ids, x := make([]int, out), make([]float32, out*in)
		for i := range ids {
			ids[i] = i
		}
		tftest.NoError(t, table.Forward(new(tf.Workspace), x, ids))
		return append(got, x)
	}
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	load(c, false)
	want := tf.TensorMap{}
	for name, tensor := range c.Tensors {
		want[name] = tensor
	}
	for name, d := range added {
		sum(want, name, d, name == "conv.weight" || name == "square.weight")
	}
	expected := load(want, false)
	for kind, w := range map[string]tf.Weights{"in memory": c.Tensors, "piecewise": brokenReader{c.Tensors, ""}} {
		for i, got := range load(w, true) {
			if text := tftest.Mismatch(got, expected[i], func(int, float64) float64 { return 1e-5 }); text != "" {
				t.Errorf("%s: result %d: %s", kind, i, text)
			}
		}
	}
}

// TestLowRankMisfits is what cannot be added.
func TestLowRankMisfits(t *testing.T) {
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	fill := tf.NewLoader(c)
	fill.At("first.").Linear(6, 4, false)
	fill.At("table.").Embedding(9, 6)
	tftest.NoError(t, fill.Finish())
	d := tf.LowRank{Name: "the adapter's", Left: make([]float32, 4*2), Right: make([]float32, 2*6), Rank: 2, Scale: 1}
	small, vectors := d, d
	small.Right = small.Right[:2*5]
	vectors.Left = make([]float32, 9*2)
	for name, test := range map[string]struct {
		tensor string
		add    tf.LowRank
		tied   bool
		want   error
	}{
		"fits":              {"first.weight", d, false, nil},
		"other shape":       {"first.weight", small, false, fault.ErrMisshapen},
		"no such tensor":    {"second.weight", d, false, fault.ErrLeftOver},
		"vector":            {"first.bias", d, false, fault.ErrMisshapen},
		"rank 0":            {"first.weight", tf.LowRank{Left: d.Left, Right: d.Right}, false, fault.ErrShape},
		"broken rank":       {"first.weight", tf.LowRank{Left: d.Left, Right: d.Right, Rank: 3}, false, fault.ErrShape},
		"shared with head":  {"table.weight", vectors, true, nil},
		"head not embedded": {"head.weight", vectors, true, nil},
	} {
		c.Tensors["first.bias"] = safetensors.Tensor{Shape: []int{4}, Data: make([]float32, 4)}
		l := tf.NewLoader(brokenReader{c.Tensors, ""})
		err := l.Add(test.tensor, test.add)
		l.At("first.").Linear(6, 4, true)
		table := l.At("table.").Embedding(9, 6)
		if test.tied {
			l.At("head.").Tied(table, nil)
		}
		if err == nil {
			err = l.Finish()
		}
		if !errors.Is(err, test.want) || err != nil && test.want != fault.ErrShape && !strings.Contains(err.Error(), "the adapter's") {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
	rounded := tf.NewLoader(brokenReader{c.Tensors, ""})
	rounded.Pack(func(string, kernels.Format, bool) kernels.Format { return kernels.FormatBF16 })
	tftest.NoError(t, rounded.Add("first.weight", tf.LowRank{Name: "x", Left: []float32{1, 1, 1, 1}, Right: []float32{0.111, 0, 0, 0, 0, 0}, Rank: 1, Scale: 1}))
	l := rounded.At("first.").Linear(6, 4, true)
	rounded.At("table.").Embedding(9, 6)
	tftest.NoError(t, rounded.Finish())
	if got, want := l.Weight()[0], c.Tensors["first.weight"].Data[0]+0.111; math.Float32bits(got)&0xffff != 0 || math.Abs(float64(got-want)) > 0.01*math.Abs(float64(want)) {
		t.Errorf("sum in bf16 is %v, want %v rounded", got, want)
	}
}
