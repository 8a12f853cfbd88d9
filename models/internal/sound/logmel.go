package sound

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
)

// This file makes of sound what Whisper takes: a log-mel spectrogram.

// Sound as Whisper takes it.
const (
	SampleRate = 16000 // samples a second
	// SpectrogramHop is the number of samples from one frame of a spectrogram to the next.
	SpectrogramHop = 160
	// spectrogramWindow is the number of samples that a frame sees.
	spectrogramWindow = 400
)

// LogMel is the log-mel spectrogram of mono samples at 16 kHz, [bins, frames] with one
// frame for each SpectrogramHop samples: the power in bins bands that are equally wide
// on Slaney's mel scale, as log10, no further than 8 below the loudest, plus 4, divided
// by 4. Samples are mirrored at both ends, of which there must be more than 200. Whisper
// itself takes 30 seconds, short sound with zeros after it.
//
// Source: Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision"
// (2022), and Slaney's Auditory Toolbox (1998) for the scale and the triangles of equal
// area.
func LogMel(samples []float32, bins int) ([]float32, error) {
	const pad = spectrogramWindow / 2
	if len(samples) <= pad {
		return nil, check.Errorf(fault.ErrShape, "log-mel spectrogram of %d samples, want more than %d", len(samples), pad)
	}
	if bins < 1 || bins > spectrogramWindow/2 {
		return nil, check.Errorf(fault.ErrConfig, "log-mel spectrogram of %d bins, want 1 to %d", bins, spectrogramWindow/2)
	}
	at := func(i int) float64 { // mirrored, without repeating the ends
		if i < 0 {
			i = -i
		}
		if i >= len(samples) {
			i = 2*(len(samples)-1) - i
		}
		return float64(samples[i])
	}
	frames := len(samples) / SpectrogramHop
	mel := make([]float32, bins*frames) // [bins, frames]
	filters := melFilters(bins)
	fft := newFFT(spectrogramWindow)
	wave, spectrum := make([]complex128, spectrogramWindow), make([]complex128, spectrogramWindow)
	hann := make([]float64, spectrogramWindow)
	for i := range hann {
		hann[i] = 0.5 - float64(0.5*elementary.Cos(2*math.Pi*float64(i)/spectrogramWindow))
	}
	loudest := math.Inf(-1)
	for f := range frames {
		for i := range wave {
			wave[i] = complex(hann[i]*at(f*SpectrogramHop-pad+i), 0)
		}
		fft.transform(spectrum, wave, 1)
		for b, filter := range filters {
			power := 0.0
			for i, w := range filter.weights {
				a := spectrum[filter.from+i]
				power += float64(w * (float64(real(a)*real(a)) + float64(imag(a)*imag(a))))
			}
			level := elementary.Log10(max(power, 1e-10))
			loudest = max(loudest, level)
			mel[b*frames+f] = float32(level)
		}
	}
	for i, level := range mel {
		mel[i] = float32((max(float64(level), loudest-8) + 4) / 4)
	}
	return mel, nil
}

// melFilter is the weights of the frequencies from a first one on.
type melFilter struct {
	from    int
	weights []float64
}

// melFilters are triangles whose corners are equally far apart on the mel scale from
// 0 Hz to half the sample rate, each of area 1 Hz.
func melFilters(bins int) []melFilter {
	const top = SampleRate / 2
	corner := make([]float64, bins+2) // in Hz
	for i := range corner {
		corner[i] = hertz(mels(top) * float64(i) / float64(bins+1))
	}
	filters := make([]melFilter, bins)
	for b := range filters {
		low, peak, high := corner[b], corner[b+1], corner[b+2]
		f := &filters[b]
		for i := range spectrogramWindow/2 + 1 {
			hz := float64(i) * SampleRate / spectrogramWindow
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

// Slaney's mel scale is linear below 1000 Hz and logarithmic above: 15 mels are 1000
// Hz, and 27 mels more are a factor of 6.4.
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

// fft is the fast Fourier transform of n values, for n of small prime factors
// (Cooley and Tukey, 1965).
type fft struct {
	n     int
	roots []complex128 // exp(-2πi*k/n)
}

func newFFT(n int) *fft {
	f := &fft{n, make([]complex128, n)}
	for k := range f.roots {
		sin, cos := elementary.Sincos(-2 * math.Pi * float64(k) / float64(n))
		f.roots[k] = complex(cos, sin)
	}
	return f
}

// transform sets dst, of f.n/stride elements, to the transform of every stride-th
// element of x.
func (f *fft) transform(dst, x []complex128, stride int) {
	n := len(dst)
	if n == 1 {
		dst[0] = x[0]
		return
	}
	p := 2 // the smallest prime factor
	for n%p != 0 {
		p++
	}
	m := n / p
	if m > 1 {
		for r := range p { // the transforms of the elements r, r+p, r+2p, …
			f.transform(dst[r*m:(r+1)*m], x[r*stride:], stride*p)
		}
	} else {
		for r := range p {
			dst[r] = x[r*stride]
		}
	}
	if p == 2 {
		for k := range m {
			a, b := dst[k], times(dst[m+k], f.roots[k*stride])
			dst[k], dst[m+k] = a+b, a-b
		}
		return
	}
	var part [8]complex128
	if p > len(part) {
		panic("models: fft of a size with a large prime factor")
	}
	for k := range m {
		for r := range p {
			part[r] = times(dst[r*m+k], f.roots[r*k*stride])
		}
		for q := range p {
			sum, at := part[0], 0
			for _, c := range part[1:p] { // times exp(-2πi*rq/p)
				if at += q; at >= p {
					at -= p
				}
				sum += times(c, f.roots[at*m*stride])
			}
			dst[q*m+k] = sum
		}
	}
}

// times is a*b, each product of which is rounded: compilers fuse it with the addition on some processors.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}
