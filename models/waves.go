package models

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
)

// Encoders that take samples themselves: wav2vec 2.0 and Moonshine.

// convolutions are the first layers of such an encoder, one after the other.
type convolutions []*block.Convolution

// Stride returns the number of samples from one hidden state to the next.
func (all convolutions) Stride() int {
	n := 1
	for _, c := range all {
		n *= c.Stride
	}
	return n
}

// Rows returns the number of hidden states for a number of samples.
func (all convolutions) Rows(samples int) int {
	for _, c := range all {
		samples = c.Rows(samples)
	}
	return samples
}

// eachSound has enter set the part of dst, [sounds, rows, D], that belongs to each sound, from the
// sound's part of samples, [sounds, frames]. It returns an error if sizes do not fit.
func eachSound(dst, samples []float32, sounds, frames, rows, dim int, enter func(dst, samples []float32) error) error {
	switch {
	case sounds < 0 || frames < 0 || len(samples) != sounds*frames:
		return check.Errorf(fault.ErrShape, "%d samples, want %d*%d (sounds*frames)", len(samples), sounds, frames)
	case rows < 1:
		return check.Errorf(fault.ErrShape, "sound of %d samples is too short for the model", frames)
	case len(dst) != sounds*rows*dim:
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d*%d*%d (sounds*rows*dim)", len(dst), sounds, rows, dim)
	}
	for s := range sounds {
		if err := enter(dst[s*rows*dim:(s+1)*rows*dim], samples[s*frames:(s+1)*frames]); err != nil {
			return err
		}
	}
	return nil
}

// waveEps is added to the variance after convolutions.
const waveEps = 1e-5

// channelNorm normalizes each column over time.
type channelNorm struct{ weight, bias []float32 } // [D]

// forward normalizes x, [n, D], in place.
func (c *channelNorm) forward(x []float32) {
	dim := len(c.weight)
	n := float64(len(x) / dim)
	mean, squares := make([]float64, dim), make([]float64, dim)
	for i := 0; i < len(x); i += dim {
		for d, v := range x[i : i+dim] {
			mean[d] += float64(v)
		}
	}
	for d := range mean {
		mean[d] /= n
	}
	for i := 0; i < len(x); i += dim {
		for d, v := range x[i : i+dim] {
			squares[d] += float64((float64(v) - mean[d]) * (float64(v) - mean[d]))
		}
	}
	for d, s := range squares {
		squares[d] = float64(c.weight[d]) / math.Sqrt(s/n+waveEps)
	}
	for i := 0; i < len(x); i += dim {
		for d, v := range x[i : i+dim] {
			x[i+d] = float32((float64(v)-mean[d])*squares[d]) + c.bias[d]
		}
	}
}

// normalizeSound normalizes x, [n, D], of a sound, with one mean and one variance of all elements,
// in place.
func normalizeSound(x, weight, bias []float32) {
	mean, squares, n := 0.0, 0.0, float64(len(x))
	for _, v := range x {
		mean += float64(v)
	}
	mean /= n
	for _, v := range x {
		squares += float64((float64(v) - mean) * (float64(v) - mean))
	}
	scale := 1 / math.Sqrt(squares/n+waveEps)
	for len(x) > 0 {
		for d, w := range weight {
			x[d] = float32((float64(x[d])-mean)*float64(scale*float64(w))) + bias[d]
		}
		x = x[len(weight):]
	}
}
