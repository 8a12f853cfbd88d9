package kernel

// The layout of weights in blocks.

// WeightBlock is the number of elements of a column in a sub-block. A block without groups is one
// sub-block.
const WeightBlock = 32

// BlockLayout describes a block of weights; kernels/internal/weights/blocks.go has the order of its
// bytes. Package simd gets it with the kernels.
type BlockLayout struct {
	Elements int  // per column
	Bits     int  // per element
	Group    int  // elements that share a scale; A has the same groups
	Scales   bool // groups have scales in addition to the block's
	Least    bool // the block, or each of its groups if they have scales, has a minimum
	Codes    Codes
}

// Codes is the set of numbers that elements of 4 bits stand for.
type Codes uint8

// The codes. The block's number of E2M1 is an exponent of 2, a byte.
const (
	NoCodes   Codes = iota // elements are the numbers themselves
	E2M1                   // 1 sign bit, 2 exponent bits, 1 fraction bit
	Nonlinear              // numbers of 8 bits, denser near 0
)

// NumbersOf has the numbers of the codes as unsigned bytes:
// for E2M1 doubled, plus 16; for Nonlinear plus 128.
var NumbersOf = [...][16]byte{
	E2M1:      {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4},
	Nonlinear: {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241},
}

// Wide returns the number of bits of an element after its expansion to a byte.
func (l BlockLayout) Wide() int {
	switch l.Codes {
	case E2M1:
		return 5
	case Nonlinear:
		return 8
	}
	return l.Bits
}

// Head returns the number of bytes per column before the first sub-block.
func (l BlockLayout) Head() int {
	switch {
	case l.Codes == E2M1:
		return 1
	case l.Least:
		return 4
	}
	return 2
}

// SubScales returns the number of bytes of scales per column, at the beginning of a sub-block.
func (l BlockLayout) SubScales() int {
	switch {
	case l.Scales && l.Least:
		return 2 * WeightBlock / l.Group
	case l.Scales:
		return WeightBlock / l.Group
	}
	return 0
}

// SubBytes returns the number of bytes per column in a sub-block.
func (l BlockLayout) SubBytes() int { return l.SubScales() + WeightBlock*l.Bits/8 }

// Bytes returns the number of bytes per column in a block.
func (l BlockLayout) Bytes() int { return l.Head() + l.Elements/WeightBlock*l.SubBytes() }

// groupBytes returns the number of bytes per column that hold a group's weights.
func (l BlockLayout) groupBytes() int { return l.Group * l.Bits / 8 }
