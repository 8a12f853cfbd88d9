package models

import (
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

// TestKeptDistances: the distances that an encoder keeps from other sounds give a sound the bits
// that it has without them, also where sounds are encoded at the same time. Distances over the
// bound are not kept.
func TestKeptDistances(t *testing.T) {
	t.Parallel()
	open := func(keep int) *spectrogramEncoder {
		a := tftest.Must(Open("testdata/folders/parakeet_ctc", Options{}))(t).Audio.(*spectrogramEncoder)
		a.keep = keep
		return a
	}
	encode := func(a *spectrogramEncoder, frames int) []float32 {
		features := make([]float32, 2*a.Features()*frames)
		for i := range features {
			features[i] = float32(i%11)/11 - 0.5
		}
		x := make([]float32, 2*a.Rows(frames)*a.Dim())
		tftest.NoError(t, a.EncodeAudio(new(Workspace), x, features, 2, frames))
		return x
	}
	kept, never := open(keptDistances), open(0)
	for range 2 {
		var running sync.WaitGroup
		for _, frames := range []int{100, 33, 300, 9, 300, 100} {
			running.Go(func() {
				if !slices.Equal(encode(kept, frames), encode(never, frames)) {
					t.Errorf("%d frames have other hidden states after other sounds", frames)
				}
			})
		}
		running.Wait()
	}
	if d := kept.known.Load(); d == nil || d.rows != kept.Rows(300) {
		t.Errorf("the distances of the longest sound are not kept: %v", d)
	}
	if never.known.Load() != nil {
		t.Error("distances over the bound are kept")
	}
}
