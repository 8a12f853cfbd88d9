package transformer

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
)

// Pairing says which features rotary positions turn together. There is no default: checkpoints of
// the two kinds look alike.
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
	Dim int
	// MaxPositions is the number of positions that there may be; 0: any.
	MaxPositions int
	// Frequencies, [Dim/2], are the angles in radians by which the pairs turn from one position to
	// the next; nil: Theta^(-2i/Dim).
	Frequencies []float64
	// FrequenciesAt, unless nil, returns the frequencies for a sequence of the given number of
	// positions, in place of Frequencies. It is called often. The caller does not write to the
	// result.
	FrequenciesAt func(length int) []float64
	// Axes, [Dim/2], are the axes of a [Position] by which the pairs turn where rows have such
	// positions; nil: they have none. It goes with Frequencies that do not depend on the length.
	Axes []uint8
	// Factor multiplies the rotated features: the attention factor of YaRN and LongRoPE. 0: 1.
	Factor float64
	// QueryScale, unless nil, returns the factor for queries at a position, which applies after the
	// rotation. It is called once for each row.
	QueryScale func(position int) float32
}

// Rotary turns pairs of features by angles that grow with the position, so that scores depend on
// distances (Su et al., 2021). Make it with NewRotary.
type Rotary struct {
	RotaryConfig
	mu    sync.Mutex
	table atomic.Pointer[rotaryTable] // grows with the positions that are asked for
}

// rotaryTable has the cosines and sines of the first positions, [positions, Dim/2], computed in
// float64.
type rotaryTable struct{ cos, sin []float32 }

// maxTable bounds the elements of a table of positions to 1 GiB. The size comes only from the
// configuration, however small the file is.
const maxTable = 1 << 28

func (c RotaryConfig) withDefaults(headDim int) (RotaryConfig, error) {
	if c.Theta == 0 {
		c.Theta = 10000
	}
	if c.Dim == 0 {
		c.Dim = headDim
	}
	if c.Factor == 0 {
		c.Factor = 1
	}
	var err error
	switch {
	case c.Pairing != PairHalves && c.Pairing != PairNeighbours:
		err = check.Errorf(fault.ErrConfig, "rotary: pairing %d; it has no default", c.Pairing)
	case headDim < 1 || c.Dim < 0 || c.Dim > headDim || c.Dim%2 != 0:
		err = check.Errorf(fault.ErrConfig, "rotary: dim %d of a head of %d, want an even number within it", c.Dim, headDim)
	case !(c.Theta > 0):
		err = check.Errorf(fault.ErrConfig, "rotary: theta %g", c.Theta)
	case c.MaxPositions < 0 || c.MaxPositions > maxTable/max(c.Dim, 1):
		err = check.Errorf(fault.ErrConfig, "rotary: max positions %d of dim %d, want a table of at most %d elements", c.MaxPositions, c.Dim, maxTable)
	case c.Frequencies != nil && len(c.Frequencies) != c.Dim/2:
		err = check.Errorf(fault.ErrConfig, "rotary: %d frequencies for %d rotated features", len(c.Frequencies), c.Dim)
	case c.Axes != nil && (len(c.Axes) != c.Dim/2 || slices.Max(c.Axes) >= uint8(len(Position{})) || c.FrequenciesAt != nil):
		err = check.Errorf(fault.ErrConfig, "rotary: axes %v for %d rotated features", c.Axes, c.Dim)
	case !(c.Factor > 0):
		err = check.Errorf(fault.ErrConfig, "rotary: factor %g", c.Factor)
	}
	return c, err
}

// Frequencies returns the frequencies of rotary positions without scaling, theta^(-2i/dim),
// [dim/2].
func Frequencies(theta float64, dim int) []float64 {
	f := make([]float64, dim/2)
	for i := range f {
		f[i] = elementary.Pow(theta, -2*float64(i)/float64(dim))
	}
	return f
}

// NewRotary returns the rotation of heads of the given size.
func NewRotary(c RotaryConfig, headDim int) (*Rotary, error) {
	c, err := c.withDefaults(headDim)
	if err != nil {
		return nil, err
	}
	if c.Frequencies == nil {
		c.Frequencies = Frequencies(c.Theta, c.Dim)
	}
	r := &Rotary{RotaryConfig: c}
	r.table.Store(&rotaryTable{})
	return r, nil
}

// angles returns the cosines and sines of the given position in a sequence of the given length,
// [Dim/2].
func (r *Rotary) angles(position, length int) (cos, sin []float32) {
	half := r.Dim / 2
	if r.FrequenciesAt != nil {
		cos, sin = make([]float32, half), make([]float32, half)
		turn(cos, sin, r.FrequenciesAt(length), float64(position), r.Factor)
		return cos, sin
	}
	t := r.table.Load()
	if (position+1)*half > len(t.cos) {
		t = r.grow(position + 1)
	}
	return t.cos[position*half : (position+1)*half], t.sin[position*half : (position+1)*half]
}

// turn sets cos and sin to those of frequencies times position, scaled.
func turn(cos, sin []float32, frequencies []float64, position, scale float64) {
	for i, f := range frequencies {
		s, c := elementary.Sincos(position * f)
		cos[i], sin[i] = float32(scale*c), float32(scale*s)
	}
}

// anglesOf sets cos and sin, [Dim/2] each, to those of a position, of which each pair turns by its
// own axis.
func (r *Rotary) anglesOf(cos, sin []float32, at Position) {
	half := r.Dim / 2
	t := r.table.Load()
	if most := max(at[0], at[1], at[2]) + 1; most*half > len(t.cos) {
		t = r.grow(most)
	}
	for i, axis := range r.Axes {
		from := at[axis]*half + i
		cos[i], sin[i] = t.cos[from], t.sin[from]
	}
}

// grow extends the table to at least the given number of positions.
func (r *Rotary) grow(positions int) *rotaryTable {
	r.mu.Lock()
	defer r.mu.Unlock()
	half, old := r.Dim/2, r.table.Load()
	rows := len(old.cos) / half
	if positions <= rows {
		return old
	}
	positions = max(positions, 2*rows, 64)
	if r.MaxPositions > 0 {
		positions = min(positions, r.MaxPositions)
	}
	t := &rotaryTable{make([]float32, positions*half), make([]float32, positions*half)}
	copy(t.cos, old.cos)
	copy(t.sin, old.sin)
	for p := rows; p < positions; p++ {
		turn(t.cos[p*half:(p+1)*half], t.sin[p*half:(p+1)*half], r.Frequencies, float64(p), r.Factor)
	}
	r.table.Store(t)
	return t
}

// Apply rotates the heads of a row in place. The row is at the given position, the last of its
// sequence. x holds heads of headDim features one after the other.
func (r *Rotary) Apply(x []float32, headDim, position int) error {
	return r.ApplyIn(x, headDim, position, position+1)
}

// ApplyIn is Apply for a row of a sequence of the given length, on which the frequencies may
// depend.
func (r *Rotary) ApplyIn(x []float32, headDim, position, length int) error {
	if err := r.check(len(x), position, headDim); err != nil {
		return err
	}
	if r.Dim > 0 {
		cos, sin := r.angles(position, length)
		rotate(x, headDim, cos, sin, r.Pairing)
	}
	return nil
}

// check returns an error unless features in heads of headDim can be rotated at a position.
func (r *Rotary) check(features, position, headDim int) error {
	if position < 0 || r.MaxPositions > 0 && position >= r.MaxPositions {
		return check.Errorf(fault.ErrTooLong, "position %d, the rotary positions are %d", position, r.MaxPositions)
	}
	if headDim < r.Dim || features%headDim != 0 {
		return check.Errorf(fault.ErrShape, "rotary: %d features in heads of %d, of which %d are rotated", features, headDim, r.Dim)
	}
	return nil
}

// checkAxes returns an error unless features in heads of headDim can be rotated at the positions of
// rows.
func (r *Rotary) checkAxes(rows, headDim int, at []Position) error {
	if r.Axes == nil || len(at) != rows {
		return check.Errorf(fault.ErrShape, "rotary: %d positions for %d rows, with axes: %v", len(at), rows, r.Axes != nil)
	}
	for _, p := range at {
		for _, position := range p {
			if err := r.check(headDim, position, headDim); err != nil {
				return err
			}
		}
	}
	return nil
}

// rotate turns the pairs of every head of x, [heads, headDim]. Each product is rounded before the
// addition. The conversions make sure of that: no machine may fuse the two operations.
func rotate(x []float32, headDim int, cos, sin []float32, pairing Pairing) {
	half := len(cos)
	sin = sin[:half]
	for ; len(x) > 0; x = x[headDim:] {
		if pairing == PairNeighbours {
			pairs := x[:2*half]
			for i, c := range cos {
				s, a, b := sin[i], pairs[2*i], pairs[2*i+1]
				pairs[2*i], pairs[2*i+1] = float32(a*c)-float32(b*s), float32(b*c)+float32(a*s)
			}
			continue
		}
		first, second := x[:half], x[half:][:half]
		for i, c := range cos {
			s, a, b := sin[i], first[i], second[i]
			first[i], second[i] = float32(a*c)-float32(b*s), float32(b*c)+float32(a*s)
		}
	}
}
