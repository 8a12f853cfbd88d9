package x86

import (
	"fmt"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file emits VDPBF16PS, which Go's assembler and avo lack, as bytes in EVEX encoding.

// avx512BF16 is the feature that VDPBF16PS needs.
const avx512BF16 = "AVX512BF16"

// DotBFloat16 adds two products of bfloat16, of a pair of a, which may be a lane, and a pair of b,
// to each float32 lane of acc.
func (x *Machine) DotBFloat16(acc, a, b vec.V) {
	ops := []operand.Op{vector(b), vector(a), vector(acc)}
	x.Instruction(&ir.Instruction{Opcode: "VDPBF16PS", Operands: ops, Inputs: ops, Outputs: ops[2:], ISA: []string{avx512BF16}})
}

// evexDot is VDPBF16PS on ZMM registers. Its elements are the numbers of b, a and the sum.
type evexDot [3]int

// code returns EVEX.512.F3.0F38.W0 52 /r (Intel SDM volume 2, VDPBF16PS). The two highest bits of
// the registers, and all bits of a, are inverted.
func (d evexDot) code() []byte {
	b, a, acc := byte(d[0]), byte(d[1]), byte(d[2])
	return []byte{
		0x62, 0xf2 ^ acc>>3&1<<7 ^ b>>4<<6 ^ b>>3&1<<5 ^ acc>>4<<4, 0x7e ^ a&15<<3, 0x48 ^ a>>4<<3,
		0x52, 0xc0 | acc&7<<3 | b&7,
	}
}

// text returns the instruction for the GNU assembler.
func (d evexDot) text() string {
	return fmt.Sprintf("vdpbf16ps %%zmm%d, %%zmm%d, %%zmm%d", d[0], d[1], d[2])
}
