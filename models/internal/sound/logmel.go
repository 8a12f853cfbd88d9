package sound

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
)

// This file computes the log-mel spectrogram that Whisper takes.

const (
	SampleRate = 16000 // samples a second
	// SpectrogramHop is the number of samples from one frame of a spectrogram to the next.
	SpectrogramHop = 160
	// spectrogramWindow is the number of samples that a frame sees.
	spectrogramWindow = 400
	// MostBins is the most bins of a spectrogram.
	MostBins = spectrogramWindow / 2
)

// LogMel returns the log-mel spectrogram of mono samples at 16 kHz, [bins, frames] with one frame
// for each SpectrogramHop samples: the power in bins bands that are equally wide on Slaney's mel
// scale, as log10, no further than 8 below the loudest, plus 4, divided by 4. Samples are mirrored
// at both ends, of which there must be more than 200. Whisper itself takes 30 seconds, short sound
// with zeros after it.
//
// Source: Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision" (2022), and
// Slaney's Auditory Toolbox (1998) for the scale and the triangles of equal area.
func LogMel(samples []float32, bins int) ([]float32, error) {
	const pad = spectrogramWindow / 2
	if len(samples) <= pad {
		return nil, check.Errorf(fault.ErrShape, "log-mel spectrogram of %d samples, want more than %d", len(samples), pad)
	}
	if err := checkBins(bins); err != nil {
		return nil, err
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
	bands := newBands(bins, spectrogramWindow, hann(spectrogramWindow, spectrogramWindow))
	loudest := math.Inf(-1)
	for f := range frames {
		for b, power := range bands.powers(at, f*SpectrogramHop-pad) {
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

// checkBins returns an error unless a spectrogram can have that many bins.
func checkBins(bins int) error {
	if bins < 1 || bins > MostBins {
		return check.Errorf(fault.ErrConfig, "log-mel spectrogram of %d bins, want 1 to %d", bins, MostBins)
	}
	return nil
}
