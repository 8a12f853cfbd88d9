package audio

import (
	"fmt"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/text/internal/wav"
)

// The filter of Resample: how many zero crossings of the sinc its window spans to each side, where
// it ends as a share of half of the lower rate, and the window's form. They are those that resampy
// calls kaiser_best.
const (
	resampleZeros = 64
	resampleEdge  = 0.9475937167399596
	kaiserBeta    = 14.769656459379492
)

// The rates that Resample takes, in Hz, and how many numbers it holds of filters.
const (
	leastRate   = wav.LeastRate
	mostRate    = wav.MostRate
	mostFilters = 1 << 20
)

// Resample is mono samples at another rate, from 1 kHz to 1 MHz: what a low-pass filter leaves of
// them, a sinc with a Kaiser window, as that of torchaudio's resample with sinc_interp_kaiser and
// the numbers of kaiser_best. Up to 0.87 of half of the lower rate it changes nothing by over
// 0.01%; above 1.03 of it nothing is left. There are ceil(len(samples)*to/from) samples, of which
// the first has the time of the first. For equal rates it is a copy.
//
// Smith, "Digital Audio Resampling", https://ccrma.stanford.edu/~jos/resample/.
func Resample(samples []float32, from, to int) ([]float32, error) {
	if min(from, to) < leastRate || max(from, to) > mostRate {
		return nil, fmt.Errorf("%w: from %d to %d Hz, want %d to %d", fault.ErrSound, from, to, leastRate, mostRate)
	}
	if from == to {
		return slices.Clone(samples), nil
	}
	divisor := from
	for b := to; b != 0; {
		divisor, b = b, divisor%b
	}
	f := newFilter(from/divisor, to/divisor)
	up, down := int64(f.up), int64(f.down)
	out := make([]float32, (int64(len(samples))*up+down-1)/down)
	for i := range out {
		whole := int(int64(i) * down / up)
		h := f.of(int(int64(i) * down % up))
		sum := 0.0
		for j := max(0, f.reach-whole); j < min(len(h), len(samples)-whole+f.reach); j++ {
			sum += float64(h[j] * float64(samples[whole-f.reach+j]))
		}
		out[i] = float32(sum)
	}
	return out, nil
}

// filter is h(t) = edge sinc(edge t) w(edge t/zeros), with t in samples of the input, where results
// are needed: they lie down/up samples apart, and so in one of up places between two samples.
type filter struct {
	down, up int
	edge     float64
	reach    int         // samples before a result that take part
	held     [][]float64 // of each place, as they have been asked for
	once     []float64   // where they are too many to be held
}

func newFilter(down, up int) *filter {
	f := &filter{down: down, up: up, edge: resampleEdge * min(1, float64(up)/float64(down))}
	f.reach = int(resampleZeros / f.edge)
	if width := 2*f.reach + 2; up*width <= mostFilters {
		f.held = make([][]float64, up)
	} else {
		f.once = make([]float64, width)
	}
	return f
}

// of returns the filter for a place after a sample: from reach samples before that one on.
func (f *filter) of(place int) []float64 {
	h := f.once
	if h == nil {
		if f.held[place] != nil {
			return f.held[place]
		}
		h = make([]float64, 2*f.reach+2)
		f.held[place] = h
	}
	for j := range h {
		t := f.edge * (float64(j-f.reach) - float64(place)/float64(f.up))
		h[j] = f.edge * sinc(t) * kaiser(t/resampleZeros)
	}
	return h
}

// sinc is sin(pi x)/(pi x).
func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return elementary.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser is Kaiser's window at x, from -1 to 1; 0 outside.
func kaiser(x float64) float64 {
	if x < -1 || x > 1 {
		return 0
	}
	return bessel(kaiserBeta*math.Sqrt(1-float64(x*x))) / bessel(kaiserBeta)
}

// bessel returns the modified Bessel function of the first kind and order 0, by its series.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-18*sum; k++ {
		term = float64(term * ((x / (2 * k)) * (x / (2 * k))))
		sum += term
	}
	return sum
}
