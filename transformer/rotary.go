package transformer

import "math"

// Pairing says which features rotary positions turn together. There is no
// default: checkpoints of the two kinds look alike.
type Pairing uint8

// The pairings.
const (
	PairHalves     Pairing = iota + 1 // (i, i+dim/2): GPT-NeoX, and LLaMA as Hugging Face stores it
	PairNeighbours                    // (2i, 2i+1): the RoFormer paper, GPT-J, and LLaMA as Meta stores it
)

// RotaryConfig describes rotary positions.
type RotaryConfig struct {
	Pairing Pairing
	Theta   float64 // base of the frequencies; 0: 10000
	// Dim is the number of leading features of a head that are rotated; 0: all.
	Dim          int
	MaxPositions int
}

// Rotary turns pairs of features by angles that grow with the position, so that
// scores depend on distances (Su et al., 2021).
type Rotary struct {
	RotaryConfig
	cos, sin []float32 // [MaxPositions, Dim/2], computed in float64
}

// maxTable bounds the elements of a table of positions: 1 GiB. Its size comes from
// the configuration alone, and no file has to be as large.
const maxTable = 1 << 28

func (c RotaryConfig) withDefaults(headDim int) (RotaryConfig, error) {
	if c.Theta == 0 {
		c.Theta = 10000
	}
	if c.Dim == 0 {
		c.Dim = headDim
	}
	var err error
	switch {
	case c.Pairing != PairHalves && c.Pairing != PairNeighbours:
		err = errorf(ErrConfig, "rotary: pairing %d; it has no default", c.Pairing)
	case headDim < 1 || c.Dim < 0 || c.Dim > headDim || c.Dim%2 != 0:
		err = errorf(ErrConfig, "rotary: dim %d of a head of %d, want an even number within it", c.Dim, headDim)
	case !(c.Theta > 0):
		err = errorf(ErrConfig, "rotary: theta %g", c.Theta)
	case c.MaxPositions < 1 || c.MaxPositions > maxTable/max(c.Dim, 1):
		err = errorf(ErrConfig, "rotary: max positions %d of dim %d, want at least 1 and a table of at most %d elements", c.MaxPositions, c.Dim, maxTable)
	}
	return c, err
}

// NewRotary makes the table of angles for heads of the given size.
func NewRotary(c RotaryConfig, headDim int) (*Rotary, error) {
	c, err := c.withDefaults(headDim)
	if err != nil {
		return nil, err
	}
	half := c.Dim / 2
	r := &Rotary{c, make([]float32, c.MaxPositions*half), make([]float32, c.MaxPositions*half)}
	for i := range half {
		frequency := math.Pow(c.Theta, -2*float64(i)/float64(c.Dim))
		for p := range c.MaxPositions {
			sin, cos := math.Sincos(float64(p) * frequency)
			r.cos[p*half+i], r.sin[p*half+i] = float32(cos), float32(sin)
		}
	}
	return r, nil
}

// Apply rotates in place the heads of a row at the given position. x holds
// heads of headDim features one after the other.
func (r *Rotary) Apply(x []float32, headDim, position int) error {
	if position < 0 || position >= r.MaxPositions {
		return errorf(ErrTooLong, "position %d, the rotary table has %d", position, r.MaxPositions)
	}
	if headDim < r.Dim || len(x)%headDim != 0 {
		return errorf(ErrShape, "rotary: %d features in heads of %d, of which %d are rotated", len(x), headDim, r.Dim)
	}
	half := r.Dim / 2
	cos, sin := r.cos[position*half:(position+1)*half], r.sin[position*half:(position+1)*half]
	for ; len(x) > 0; x = x[headDim:] {
		for i, c := range cos {
			a, b := i, i+half
			if r.Pairing == PairNeighbours {
				a, b = 2*i, 2*i+1
			}
			x[a], x[b] = x[a]*c-x[b]*sin[i], x[b]*c+x[a]*sin[i]
		}
	}
	return nil
}
