package sound

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
)

// This file computes the log-mel spectrogram that Parakeet takes.

const (
	preEmphasis    = 0.97
	normalizedSize = 512             // of the Fourier transform
	quietest       = 1.0 / (1 << 24) // is added to the power, whose logarithm is taken
	normalizedEps  = 1e-5            // is added to the standard deviation
)

// NormalizedLogMel returns the log-mel spectrogram of mono samples at 16 kHz, [bins, frames] with
// one frame for each SpectrogramHop samples, in which every bin has mean 0 and standard deviation 1.
// Of each sample 0.97 times the one before is subtracted first. Frames see 400 samples around their
// middle, with zeros before the first and after the last. There must be at least two frames.
//
// Source: the preprocessor of NVIDIA NeMo's FastConformer models, as transformers'
// ParakeetFeatureExtractor has it.
func NormalizedLogMel(samples []float32, bins int) ([]float32, error) {
	frames := len(samples) / SpectrogramHop
	if frames < 2 {
		return nil, check.Errorf(fault.ErrShape, "normalized log-mel spectrogram of %d samples, want at least %d", len(samples), 2*SpectrogramHop)
	}
	if err := checkBins(bins); err != nil {
		return nil, err
	}
	at := func(i int) float64 {
		switch {
		case i < 0 || i >= len(samples):
			return 0
		case i == 0:
			return float64(samples[0])
		}
		return float64(samples[i]) - float64(preEmphasis*float64(samples[i-1]))
	}
	levels := make([]float64, bins*frames) // [bins, frames]
	bands := newBands(bins, normalizedSize, hann(spectrogramWindow, spectrogramWindow-1))
	for f := range frames {
		for b, power := range bands.powers(at, f*SpectrogramHop-spectrogramWindow/2) {
			levels[b*frames+f] = elementary.Log(power + quietest)
		}
	}
	mel := make([]float32, len(levels)) // [bins, frames]
	for b := range bins {
		normalize(mel[b*frames:(b+1)*frames], levels[b*frames:(b+1)*frames])
	}
	return mel, nil
}

// normalize sets dst to x with mean 0 and a standard deviation of 1, which is estimated as that of
// a sample.
func normalize(dst []float32, x []float64) {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		squares += float64((v - mean) * (v - mean))
	}
	deviation := math.Sqrt(squares/float64(len(x)-1)) + normalizedEps
	for i, v := range x {
		dst[i] = float32((v - mean) / deviation)
	}
}
