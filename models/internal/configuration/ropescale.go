package configuration

import (
	"cmp"
	"math"
	"slices"

	"github.com/avoformer/avoformer/transformer"
)

// How rope_scaling changes the frequencies of rotary positions.

// scale changes the frequencies of c as s says, which d holds.
func (s ropeScaling) scale(d Document, f RopeFields, c *transformer.RotaryConfig, maxPositions int) error {
	if f.Long && (s.Type == "yarn" || s.Type == "su") {
		s.Type = "longrope"
	}
	if f.Long && s.Type != "longrope" && s.Type != "default" {
		return d.Errorf("rope_type", "want default or longrope")
	}
	factor := func() error {
		if !(s.Factor > 0) {
			return d.Errorf("factor", "want a number above 0")
		}
		return nil
	}
	switch s.Type {
	case "default":
		return nil
	case "proportional": // of all features: a factor that may be absent
		s.Factor = cmp.Or(s.Factor, 1)
		fallthrough
	case "linear":
		for i := range c.Frequencies {
			c.Frequencies[i] /= s.Factor
		}
		return factor()
	case "dynamic":
		if f.Alpha {
			fixed := struct {
				Alpha float64 `json:"alpha" min:"0"`
			}{}
			if err := d.Decode(&fixed); err != nil || fixed.Alpha > 0 {
				c.Frequencies = transformer.Frequencies(stretched(c.Theta, fixed.Alpha, c.Dim), c.Dim)
				return err
			}
		}
		c.FrequenciesAt = s.dynamic(c, maxPositions)
		return factor()
	case "yarn":
		if s.Factor == 0 {
			s.Factor = float64(maxPositions) / float64(s.original)
		}
		s.yarn(c)
		return factor()
	case "llama3":
		if !(s.Low > 0) || !(s.High > s.Low) {
			return d.Errorf("high_freq_factor", "want more than low_freq_factor = %g, and that above 0", s.Low)
		}
		s.llama3(c)
		return factor()
	case "longrope", "su":
		half := len(c.Frequencies)
		if len(s.Short) != half {
			return d.Errorf("short_factor", "want %d numbers", half)
		}
		if len(s.Long) != half {
			return d.Errorf("long_factor", "want %d numbers", half)
		}
		if slices.Min(s.Short) <= 0 || slices.Min(s.Long) <= 0 {
			return d.Errorf("short_factor", "want numbers above 0, in long_factor too")
		}
		s.longrope(c, maxPositions)
		return nil
	}
	field := "rope_type"
	if !d.Has(field) {
		field = "type"
	}
	return d.Errorf(field, "unknown; want %s", ropeTypes)
}

// dynamic raises the base for sequences longer than those trained on, by so much that
// the slowest pair turns as far as before (NTK-aware interpolation).
func (s ropeScaling) dynamic(c *transformer.RotaryConfig, maxPositions int) func(length int) []float64 {
	trained, dim, theta := c.Frequencies, c.Dim, c.Theta
	return func(length int) []float64 {
		if length <= maxPositions || dim <= 2 {
			return trained
		}
		grown := s.Factor*float64(length)/float64(maxPositions) - (s.Factor - 1)
		return transformer.Frequencies(stretched(theta, grown, dim), dim)
	}
}

// stretched is the base with which the slowest of dim/2 pairs turns by as much less as alpha says.
func stretched(theta, alpha float64, dim int) float64 {
	if dim <= 2 {
		return theta
	}
	return theta * math.Pow(alpha, float64(dim)/float64(dim-2))
}

// yarn interpolates the pairs that turn slowly, leaves those that turn fast, and blends
// in between; attention is sharpened (Peng et al., 2023, "YaRN").
func (s ropeScaling) yarn(c *transformer.RotaryConfig) {
	// pair is the index of the pair that makes the given number of turns in the length
	// trained on.
	pair := func(turns float64) float64 {
		return float64(c.Dim) * math.Log(float64(s.original)/(turns*2*math.Pi)) / (2 * math.Log(c.Theta))
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
		c.Frequencies[i] = f/s.Factor*slow + f*(1-slow)
	}
	sharpen := func(m float64) float64 {
		if s.Factor <= 1 {
			return 1
		}
		return 0.1*m*math.Log(s.Factor) + 1
	}
	switch {
	case s.AttentionFactor > 0:
		c.Factor = s.AttentionFactor
	case s.MScale > 0 && s.MScaleAll > 0:
		c.Factor = sharpen(s.MScale) / sharpen(s.MScaleAll)
	default:
		c.Factor = sharpen(1)
	}
}

// llama3 interpolates the pairs that turn less than Low times in the length trained on,
// leaves those that turn more than High times, and blends in between.
func (s ropeScaling) llama3(c *transformer.RotaryConfig) {
	for i, f := range c.Frequencies {
		turns := float64(s.original) * f / (2 * math.Pi)
		fast := min(max((turns-s.Low)/(s.High-s.Low), 0), 1)
		c.Frequencies[i] = f/s.Factor*(1-fast) + f*fast
	}
}

// longrope divides each frequency by a number of its own, and by another one in
// sequences longer than those trained on (Ding et al., 2024, "LongRoPE").
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
		c.Factor = math.Sqrt(1 + math.Log(factor)/math.Log(float64(s.original)))
	}
}
