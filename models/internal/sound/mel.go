package sound

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
)

// This file divides the power of sound into bands that are equally wide on Slaney's mel scale.

// bands computes the power of frames in mel bands.
type bands struct {
	window         []float64 // weights of the samples of a frame
	filters        []melFilter
	fft            *fft
	wave, spectrum []complex128
	power          []float64 // [bins]
}

// newBands returns bands for frames of as many samples as window has weights, with zeros after them
// up to the size of the transform.
func newBands(bins, size int, window []float64) *bands {
	return &bands{window, melFilters(bins, size), newFFT(size), make([]complex128, size), make([]complex128, size), make([]float64, bins)}
}

// hann returns the raised cosine of n weights, one period of which has a given length: n, or n-1
// where the last weight is 0 too.
func hann(n, period int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 0.5 - float64(0.5*elementary.Cos(2*math.Pi*float64(i)/float64(period)))
	}
	return w
}

// powers returns the power in each band of the frame that begins with a sample, until the next
// call.
func (b *bands) powers(at func(sample int) float64, first int) []float64 {
	for i, w := range b.window {
		b.wave[i] = complex(w*at(first+i), 0)
	}
	b.fft.transform(b.spectrum, b.wave, 1)
	for m, filter := range b.filters {
		power := 0.0
		for i, w := range filter.weights {
			a := b.spectrum[filter.from+i]
			power += float64(w * (float64(real(a)*real(a)) + float64(imag(a)*imag(a))))
		}
		b.power[m] = power
	}
	return b.power
}

// melFilter is the weights of the frequencies from a first one on.
type melFilter struct {
	from    int
	weights []float64
}

// melFilters are triangles whose corners are equally far apart on the mel scale from 0 Hz to half
// the sample rate, each of area 1 Hz, for the frequencies of a transform of size samples.
func melFilters(bins, size int) []melFilter {
	const top = SampleRate / 2
	corner := make([]float64, bins+2) // in Hz
	for i := range corner {
		corner[i] = hertz(mels(top) * float64(i) / float64(bins+1))
	}
	filters := make([]melFilter, bins)
	for b := range filters {
		low, peak, high := corner[b], corner[b+1], corner[b+2]
		f := &filters[b]
		for i := range size/2 + 1 {
			hz := float64(i) * SampleRate / float64(size)
			w := min((hz-low)/(peak-low), (high-hz)/(high-peak))
			switch {
			case w > 0:
				f.weights = append(f.weights, w*2/(high-low))
			case f.weights == nil:
				f.from = i + 1
			}
		}
	}
	return filters
}

// Slaney's mel scale is linear below 1000 Hz and logarithmic above: 15 mels are 1000 Hz, and 27
// mels more are a factor of 6.4.
const melsPerHertz = 3.0 / 200

var melLogStep = elementary.Log(6.4) / 27

func mels(hz float64) float64 {
	if hz < 1000 {
		return hz * melsPerHertz
	}
	return 1000*melsPerHertz + elementary.Log(hz/1000)/melLogStep
}

func hertz(mels float64) float64 {
	const knee = 1000 * melsPerHertz
	if mels < knee {
		return mels / melsPerHertz
	}
	return 1000 * elementary.Exp((mels-knee)*melLogStep)
}
