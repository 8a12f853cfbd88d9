package models

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/transformer"
)

// TestCrossWeights compares the weights of heads with those that a trace of the same pass reports.
func TestCrossWeights(t *testing.T) {
	m := tftest.Must(Open("testdata/folders/whisper", Options{}))(t)
	const rows = 7
	dim, tokens := m.Audio.Dim(), []int{3, 1, 4, 1, 5}
	memory := &Memory{X: tftest.Normal(1, rows*dim), Batch: transformer.Uniform(1, rows)}
	ws, lm := &Workspace{}, m.LM.(CrossWeigher)
	var traced [][]float32 // of each layer, [heads, tokens, rows]
	ws.Trace = func(name string, values []float32, shape ...int) {
		if strings.HasSuffix(name, ".encoder_attn.weights") {
			traced = append(traced, append([]float32{}, values...))
		}
	}
	tftest.NoError(t, m.LM.Hidden(ws, make([]float32, len(tokens)*dim), tokens, transformer.Uniform(1, len(tokens)), memory, nil))
	ws.Trace = nil
	if len(traced) < 2 {
		t.Fatalf("%d layers with cross-attention", len(traced))
	}
	heads := []CrossHead{{Layer: 1, Head: 2}, {Head: 1}, {Layer: 1}}
	got := tftest.Must(lm.CrossWeights(ws, heads, tokens, memory))(t)
	size := len(tokens) * rows
	for i, h := range heads {
		for j, v := range got[i*size : (i+1)*size] {
			if want := traced[h.Layer][h.Head*size+j]; math.Abs(float64(v-want)) > 1e-6 { // a trace has all attentions write their weights, in another order of sums
				t.Fatalf("%v: weight %d is %v, want %v", h, j, v, want)
			}
		}
		for r := range len(tokens) {
			sum := 0.0
			for _, v := range got[i*size+r*rows:][:rows] {
				sum += float64(v)
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("%v: the weights of token %d sum up to %v", h, r, sum)
			}
		}
	}
	for _, h := range []CrossHead{{Layer: -1}, {Layer: 9}, {Head: -1}, {Head: 99}} {
		if _, err := lm.CrossWeights(ws, []CrossHead{h}, tokens, memory); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%v: %v", h, err)
		}
	}
	for _, bad := range []*Memory{nil, {X: memory.X, Batch: transformer.Ragged(3, 4)}} {
		if _, err := lm.CrossWeights(ws, heads, tokens, bad); !errors.Is(err, fault.ErrShape) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	decoder := tftest.Must(Open("testdata/folders/llama", Options{}))(t)
	if _, err := decoder.LM.(CrossWeigher).CrossWeights(ws, heads, tokens, memory); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("without cross-attention: %v", err)
	}
}
