// Package tftest has code that the tests of package transformer and of the models built on it
// share.
package tftest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// EachTier runs test on every tier of this machine.
func EachTier(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, kernels.Supported(), kernels.Active(), machine.Use, test)
}

// Must returns v, or ends the test.
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// NoError ends the test unless err is nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Second returns the second of two results.
func Second[T any](_ T, err error) error { return err }

// Normal returns n numbers of a normal distribution.
func Normal(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// Strong multiplies weights by five, so that the predictions of a model with few weights differ.
type Strong struct{ transformer.Weights }

// Tensor implements transformer.Weights.
func (s Strong) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := s.Weights.Tensor(name, shape...)
	for i := range x {
		x[i] *= 5
	}
	return x, err
}

// AddSlices returns x + y.
func AddSlices(x, y []float32) []float32 {
	z := make([]float32, len(x))
	kernels.Add(z, x, y)
	return z
}

// Collected is weights in memory that record the tensors that a constructor asks for.
type Collected struct {
	Tensors transformer.TensorMap
}

// Names implements transformer.Weights.
func (c Collected) Names() []string { return nil }

// Tensor implements transformer.Weights.
func (c Collected) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := transformer.Random(1).Tensor(name, shape...)
	c.Tensors[name] = safetensors.Tensor{Shape: slices.Clone(shape), Data: x}
	return x, err
}

// Mismatch describes the element of got that differs most from want, relative to the allowed
// difference. It returns "" if no difference is larger than allowed. NaN and infinities must agree.
func Mismatch(got, want []float32, allowed func(i int, want float64) float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d elements, want %d", len(got), len(want))
	}
	worst, at := 0.0, -1
	for i, w := range want {
		a, b := float64(got[i]), float64(w)
		if a == b || math.IsNaN(a) && math.IsNaN(b) {
			continue
		}
		excess := math.Abs(a-b) / allowed(i, b)
		if math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsNaN(excess) {
			excess = math.Inf(1)
		}
		if excess > worst {
			worst, at = excess, i
		}
	}
	if worst <= 1 {
		return ""
	}
	return fmt.Sprintf("element %d is %v, want %v: off by %.3g times the tolerance", at, got[at], want[at], worst)
}

// Shared uses the same models in many goroutines at once, each with a workspace of its own. Each
// use must have the same result as when no other goroutine runs.
func Shared(t *testing.T, uses map[string]func(ws *transformer.Workspace) (result any, err error)) {
	t.Helper()
	goroutines, rounds := 6, 3
	if testenv.Emulated() {
		goroutines, rounds = 2, 1
	}
	want := map[string]any{}
	for name, f := range uses {
		var err error
		if want[name], err = f(new(transformer.Workspace)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			ws := &transformer.Workspace{Threads: kernels.Threads(1 + g%3)}
			for range rounds {
				for name, f := range uses { // in any order
					if got, err := f(ws); err != nil || !reflect.DeepEqual(got, want[name]) {
						t.Errorf("%s differs from its result without other goroutines (error %v)", name, err)
					}
				}
			}
		})
	}
	wg.Wait()
}
