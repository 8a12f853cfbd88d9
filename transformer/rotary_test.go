package transformer_test

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestRotaryFrequencies rotates (1, 0) pairs, which gives the cosine and the sine themselves, from
// several goroutines, so that the table grows under their hands.
func TestRotaryFrequencies(t *testing.T) {
	given := []float64{0.5, 0.01}
	atLength := func(n int) []float64 { return []float64{1 / float64(n), 2 / float64(n)} }
	for name, c := range map[string]tf.RotaryConfig{
		"default":          {Theta: 100},
		"given":            {Frequencies: given, Factor: 1.25},
		"of the length":    {FrequenciesAt: atLength},
		"up to a position": {Theta: 100, MaxPositions: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			c.Pairing = tf.PairHalves
			r := tftest.Must(tf.NewRotary(c, 4))(t)
			want := func(i, position, length int) float64 {
				switch {
				case c.FrequenciesAt != nil:
					return atLength(length)[i] * float64(position)
				case c.Frequencies != nil:
					return given[i] * float64(position)
				}
				return math.Pow(100, -float64(i)/2) * float64(position)
			}
			factor := max(c.Factor, 1)
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for p := g; p < 1000; p += 37 {
						x := []float32{1, 1, 0, 0}
						if err := r.ApplyIn(x, 4, p, p+5); err != nil {
							t.Error(err)
						}
						for i := range 2 {
							sin, cos := math.Sincos(want(i, p, p+5))
							if math.Abs(float64(x[i])-factor*cos) > 1e-6 || math.Abs(float64(x[i+2])-factor*sin) > 1e-6 {
								t.Errorf("pair %d at position %d: %g, %g, want %g, %g", i, p, x[i], x[i+2], factor*cos, factor*sin)
							}
						}
					}
				})
			}
			wg.Wait()
			err := r.Apply(make([]float32, 4), 4, 1000)
			if limited := c.MaxPositions > 0; limited != errors.Is(err, fault.ErrTooLong) {
				t.Errorf("position 1000: %v", err)
			}
		})
	}
}
