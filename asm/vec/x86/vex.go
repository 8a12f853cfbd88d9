package x86

import (
	"fmt"

	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

// This file emits VPDPBUSD as bytes in the encoding of AVX-VNNI, for AVX2. Go's assembler has only
// its EVEX encoding.

// avxVNNI is the feature that the VEX encoding needs.
const avxVNNI = "AVXVNNI"

// DotBytes adds four products of an unsigned byte of b and a signed byte of a to each lane of 32
// bits of acc.
func (x *Machine) DotBytes(a, b, acc reg.Register) {
	i, err := x86.VPDPBUSD(a, b, acc)
	if err != nil {
		panic(fmt.Sprintf("vec.DotBytes: %v", err))
	}
	if x.Width() < 16 {
		i.ISA = []string{avxVNNI}
	}
	x.Instruction(i)
}

// vexDot is VPDPBUSD on YMM registers in VEX encoding. Its elements are the numbers of a, b and the
// sum.
type vexDot [3]int

// code returns VEX.256.66.0F38.W0 50 /r (Intel SDM volume 2, VPDPBUSD). The highest bits of the
// registers, and all bits of b, are inverted.
func (d vexDot) code() []byte {
	a, b, acc := byte(d[0]), byte(d[1]), byte(d[2])
	return []byte{0xc4, 0xe2 ^ acc>>3<<7 ^ a>>3<<5, 0x7d ^ b<<3, 0x50, 0xc0 | acc&7<<3 | a&7}
}

// text returns the instruction for the GNU assembler.
func (d vexDot) text() string {
	return fmt.Sprintf("{vex} vpdpbusd %%ymm%d, %%ymm%d, %%ymm%d", d[0], d[1], d[2])
}
