package configuration

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/transformer"
)

// How rope_scaling changes the frequencies of rotary positions.

// dynamic raises the base for sequences longer than those trained on, by so much that the slowest
// pair turns as far as before (NTK-aware interpolation).
func (s ropeScaling) dynamic(c *transformer.RotaryConfig, maxPositions int) func(length int) []float64 {
	trained, dim, theta := c.Frequencies, c.Dim, c.Theta
	type ofLength struct {
		length      int
		frequencies []float64
	}
	var last atomic.Pointer[ofLength] // all rows of a prompt ask for those of its length
	return func(length int) []float64 {
		if length <= maxPositions || dim <= 2 {
			return trained
		}
		if l := last.Load(); l != nil && l.length == length {
			return l.frequencies
		}
		grown := s.Factor*float64(length)/float64(maxPositions) - (s.Factor - 1)
		f := transformer.Frequencies(Stretched(theta, grown, dim), dim)
		last.Store(&ofLength{length, f})
		return f
	}
}

// Stretched returns the base with which the slowest of dim/2 pairs turns by as much less as alpha
// says.
func Stretched(theta, alpha float64, dim int) float64 {
	if dim <= 2 {
		return theta
	}
	return theta * elementary.Pow(alpha, float64(dim)/float64(dim-2))
}

// yarn interpolates the pairs that turn slowly, leaves those that turn fast, and blends in between;
// attention is sharpened (Peng et al., 2023, "YaRN").
func (s ropeScaling) yarn(c *transformer.RotaryConfig) {
	// pair is the index of the pair that makes the given number of turns in the length trained on.
	pair := func(turns float64) float64 {
		return float64(c.Dim) * elementary.Log(float64(s.original)/(turns*2*math.Pi)) / (2 * elementary.Log(c.Theta))
	}
	low, high := pair(s.BetaFast), pair(s.BetaSlow)
	if s.Truncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(c.Dim-1))
	if low == high {
		high += 0.001
	}
	for i, f := range c.Frequencies {
		slow := min(max((float64(i)-low)/(high-low), 0), 1)
		c.Frequencies[i] = float64(f/s.Factor*slow) + float64(f*(1-slow))
	}
	switch {
	case s.AttentionFactor > 0:
		c.Factor = s.AttentionFactor
	case s.MScale > 0 && s.MScaleAll > 0:
		c.Factor = s.sharpen(s.MScale) / s.sharpen(s.MScaleAll)
	default:
		c.Factor = s.sharpen(1)
	}
}

// sharpen is what scores are multiplied by, since more positions make attention less sharp. m says
// how much.
func (s ropeScaling) sharpen(m float64) float64 {
	if s.Factor <= 1 {
		return 1
	}
	return float64(0.1*m*elementary.Log(s.Factor)) + 1
}

// llama3 interpolates the pairs that turn less than Low times in the length trained on, leaves
// those that turn more than High times, and blends in between.
func (s ropeScaling) llama3(c *transformer.RotaryConfig) {
	for i, f := range c.Frequencies {
		turns := float64(s.original) * f / (2 * math.Pi)
		fast := min(max((turns-s.Low)/(s.High-s.Low), 0), 1)
		c.Frequencies[i] = float64(f/s.Factor*(1-fast)) + float64(f*fast)
	}
}

// longrope divides each frequency by a number of its own, and by another one in sequences longer
// than those trained on (Ding et al., 2024, "LongRoPE").
func (s ropeScaling) longrope(c *transformer.RotaryConfig, maxPositions int) {
	short, long := make([]float64, len(s.Short)), make([]float64, len(s.Short))
	for i, f := range c.Frequencies {
		short[i], long[i] = f/s.Short[i], f/s.Long[i]
	}
	c.Frequencies = short
	if !slices.Equal(short, long) {
		c.FrequenciesAt = func(length int) []float64 {
			if length > s.original {
				return long
			}
			return short
		}
	}
	factor := s.Factor
	if factor == 0 {
		factor = float64(maxPositions) / float64(s.original)
	}
	switch {
	case s.AttentionFactor > 0:
		c.Factor = s.AttentionFactor
	case factor > 1:
		c.Factor = math.Sqrt(1 + elementary.Log(factor)/elementary.Log(float64(s.original)))
	}
}

// ropeScaling is the object that says how frequencies are scaled.
type ropeScaling struct {
	Type            string    `json:"rope_type"`
	OldType         string    `json:"type"`
	Theta           any       `json:"rope_theta"`                       // read by theta
	Part            any       `json:"partial_rotary_factor"`            // read by part
	Factor          float64   `json:"factor" min:"0"`                   // 0: absent
	SaidOriginal    any       `json:"original_max_position_embeddings"` // read by trained
	AttentionFactor float64   `json:"attention_factor" min:"0"`
	BetaFast        float64   `json:"beta_fast"`
	BetaSlow        float64   `json:"beta_slow"`
	MScale          float64   `json:"mscale" min:"0"`
	MScaleAll       float64   `json:"mscale_all_dim" min:"0"`
	Truncate        bool      `json:"truncate"`
	Low             float64   `json:"low_freq_factor" min:"0"`
	High            float64   `json:"high_freq_factor" min:"0"`
	Short           []float64 `json:"short_factor"`
	Long            []float64 `json:"long_factor"`
	Finetuned       bool      `json:"finetuned"` // says nothing about what is computed

	original int // the length trained on
}
