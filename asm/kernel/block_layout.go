package kernel

// How weights in blocks lie in memory.

// WeightBlock is the number of elements of a column in a sub-block. A block without groups is one sub-block.
const WeightBlock = 32

// BlockLayout is what a block of weights consists of; kernels/internal/weights/blocks.go has the order of
// its bytes. Package simd gets it with the kernels.
type BlockLayout struct {
	Elements int  // of a column
	Bits     int  // of an element
	Group    int  // elements that are scaled together, as are those of A
	Scales   bool // groups have scales beside the block's
	Least    bool // and the block, or its groups if they have scales, minima
	Codes    Codes
}

// Codes says what numbers elements of 4 bits stand for.
type Codes uint8

// The codes. The block's number of E2M1 is an exponent of 2, a byte.
const (
	NoCodes   Codes = iota // elements are numbers
	E2M1                   // 1 bit of a sign, 2 of an exponent, 1 of a fraction
	Nonlinear              // numbers of 8 bits that lie closer to each other near 0
)

// NumbersOf are the numbers of the codes without a sign: those of E2M1 are doubled and larger by 16, those of Nonlinear larger by 128.
var NumbersOf = [...][16]byte{
	E2M1:      {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4},
	Nonlinear: {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241},
}

// Wide returns the bits of an element once it is a byte.
func (l BlockLayout) Wide() int {
	switch l.Codes {
	case E2M1:
		return 5
	case Nonlinear:
		return 8
	}
	return l.Bits
}

// Head returns the number of bytes of a column before the first sub-block.
func (l BlockLayout) Head() int {
	switch {
	case l.Codes == E2M1:
		return 1
	case l.Least:
		return 4
	}
	return 2
}

// SubScales returns the number of bytes of scales of a column, with which a sub-block begins.
func (l BlockLayout) SubScales() int {
	switch {
	case l.Scales && l.Least:
		return 2 * WeightBlock / l.Group
	case l.Scales:
		return WeightBlock / l.Group
	}
	return 0
}

// SubBytes returns the number of bytes of a column in a sub-block.
func (l BlockLayout) SubBytes() int { return l.SubScales() + WeightBlock*l.Bits/8 }

// Bytes returns the number of bytes of a column in a block.
func (l BlockLayout) Bytes() int { return l.Head() + l.Elements/WeightBlock*l.SubBytes() }

// groupBytes returns the bytes of a column that are a group's weights.
func (l BlockLayout) groupBytes() int { return l.Group * l.Bits / 8 }
