package classic_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// configs are configurations of every kind of model, with a constructor.
func configs() map[string]struct {
	config any // a pointer
	build  func(w tf.Weights) error
} {
	type model = struct {
		config any
		build  func(w tf.Weights) error
	}
	bert := classic.BERTConfig{Vocab: 9, Types: 2, MaxPositions: 8, Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Activation: kernels.ActGELU, Eps: 1e-12,
		Relative: tf.RelativeKey, MemoryDim: 6, Chunk: 2, Pooler: true}
	vit := classic.ViTConfig{Height: 8, Width: 8, PatchHeight: 4, PatchWidth: 4, Channels: 3, Dim: 8, Heads: 2, Layers: 2, FeedForward: 12,
		Activation: kernels.ActGELU, Eps: 1e-6, Classes: 3}
	seq := classic.Seq2SeqConfig{TransformerConfig: classic.D2LConfig{Dim: 8, Heads: 2, Layers: 2, FeedForward: 12, Bias: false}.Transformer(), SourceVocab: 7, TargetVocab: 8, MaxLen: 10}
	torch := classic.TorchConfig{Dim: 8, Heads: 2, EncoderLayers: 2, DecoderLayers: 2, FeedForward: 12, Activation: kernels.ActReLU, NormFirst: false}.Transformer()
	return map[string]model{
		"BERT": {&bert, func(w tf.Weights) error { return tftest.Second(classic.NewBERT(bert, w, "")) }},
		"ViT":  {&vit, func(w tf.Weights) error { return tftest.Second(classic.NewViT(vit, w, "")) }},
		"d2l":  {&seq, func(w tf.Weights) error { return tftest.Second(classic.NewSeq2Seq(seq, classic.D2LSeq2Seq(), w, "")) }},
		"torch": {&torch, func(w tf.Weights) error {
			return tftest.Second(classic.NewTransformer(torch, classic.TorchTransformer(), w, ""))
		}},
	}
}

// numbersOf calls f with every number in a configuration.
func numbersOf(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			numbersOf(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			numbersOf(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			numbersOf(v.Index(i), fmt.Sprintf("%s[%d]", path, i), f)
		}
	case reflect.Int, reflect.Uint8, reflect.Float32, reflect.Float64:
		f(path, v)
	}
}

// TestHostileConfigs makes each number of each configuration negative, huge or not a number in
// turn, with the weights of the right one. There is an error that says which kind, or a model; no
// panic; and no memory for what is not there.
func TestHostileConfigs(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too slow in an emulator, and no kernel runs")
	}
	tried := 0
	matches := []error{fault.ErrConfig, fault.ErrMissing, fault.ErrMisshapen, fault.ErrLeftOver, fault.ErrShape}
	for name, m := range configs() {
		weights := tftest.Collected{Tensors: tf.TensorMap{}}
		tftest.NoError(t, m.build(weights))
		numbersOf(reflect.ValueOf(m.config), name, func(path string, v reflect.Value) {
			right := reflect.ValueOf(v.Interface())
			defer v.Set(right)
			var wrong []any
			switch {
			case v.CanInt():
				for _, n := range []int64{-1, 0, 1, 3, 1 << 18, 1 << 31, math.MaxInt64/2 + 1, math.MaxInt64, math.MinInt64} {
					if int64(int(n)) == n {
						wrong = append(wrong, int(n))
					}
				}
			case v.CanUint():
				wrong = append(wrong, uint8(0), uint8(77), uint8(255))
			default:
				wrong = append(wrong, 0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64)
			}
			for _, x := range wrong {
				v.Set(reflect.ValueOf(x).Convert(v.Type()))
				if tried++; testenv.Quick() && tried%3 != 0 {
					continue
				}
				for what, w := range map[string]tf.Weights{"weights": weights.Tensors, "no weights": tf.TensorMap{}} {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := m.build(w)
					runtime.ReadMemStats(&after)
					if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
						t.Errorf("%s = %v, %s: %d bytes allocated", path, x, what, got)
					}
					known := err == nil
					for _, want := range matches {
						known = known || errors.Is(err, want)
					}
					if !known {
						t.Errorf("%s = %v, %s: error %v matches none of %v", path, x, what, err, matches)
					}
					if err == nil && what == "no weights" {
						t.Errorf("%s = %v: a model without weights", path, x)
					}
				}
			}
		})
	}
}

// TestHostileCheckpoints gives each tensor of each model another shape, of as many elements or not,
// and elements that do not fit its shape.
func TestHostileCheckpoints(t *testing.T) {
	for name, m := range configs() {
		weights := tftest.Collected{Tensors: tf.TensorMap{}}
		tftest.NoError(t, m.build(weights))
		for tensor, right := range weights.Tensors {
			for _, wrong := range []safetensors.Tensor{
				{Shape: append([]int{1}, right.Shape...), Data: right.Data},
				{Shape: []int{len(right.Data)}, Data: right.Data},
				{Shape: right.Shape, Data: right.Data[1:]},
				{Shape: right.Shape},
				{Shape: []int{-1, -len(right.Data)}, Data: right.Data},
				{Shape: []int{1 << 30, 1 << 30, 16}}, // 0 elements, if the product wraps around
				{},
			} {
				weights.Tensors[tensor] = wrong
				err := m.build(weights.Tensors)
				if !errors.Is(err, fault.ErrMisshapen) && !reflect.DeepEqual(wrong, right) {
					t.Errorf("%s: %s of shape %v with %d elements, want %v: error %v", name, tensor, wrong.Shape, len(wrong.Data), right.Shape, err)
				}
			}
			weights.Tensors[tensor] = right
		}
	}
}
