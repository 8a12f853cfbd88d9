package tile

import (
	"encoding/binary"
	"math"
)

// This file has VDPBF16PS of AVX512_BF16, which multiplies pairs of bfloat16 in vectors and needs
// no tiles.

// Pairs is the instruction on vectors of 64 bytes, with the numbers of its registers. It adds the
// products of A and B to C.
type Pairs struct{ C, A, B int }

// PairsName is the instruction's name, and PairsLen its length in bytes.
const (
	PairsName = "VDPBF16PS"
	PairsLen  = 6
)

// Vectors are the vector registers of a thread.
type Vectors [32][64]byte

// DecodePairs decodes the instruction at the beginning of code: EVEX.512.F3.0F38.W0 52 /r. It
// supports only the form with registers and without a mask.
func DecodePairs(code []byte) (p Pairs, ok bool) {
	if len(code) < PairsLen || code[0] != 0x62 || code[1]&0xf != 2 || code[2]&0x87 != 6 || code[3]&^8 != 0x40 || code[4] != 0x52 || code[5] < 0xc0 {
		return p, false
	}
	bit := func(b byte, n, of int) int { return int(^b>>n&1) << of }
	modrm := int(code[5])
	p.C = modrm>>3&7 | bit(code[1], 7, 3) | bit(code[1], 4, 4)
	p.A = int(^code[2]>>3&15) | bit(code[3], 3, 4)
	p.B = modrm&7 | bit(code[1], 5, 3) | bit(code[1], 6, 4)
	return p, true
}

// Run executes the instruction: it adds to each sum first the product of the upper halves and then
// the product of the lower halves. Each addition rounds once, to the nearest even number. Denormal
// operands and results count as zero, for any MXCSR.
func (p Pairs) Run(v *Vectors) {
	a, b := v[p.A], v[p.B] // copies, because C may be A or B
	for at := 0; at < len(a); at += 4 {
		c := v[p.C][at:][:4]
		sum := flush(math.Float32frombits(binary.LittleEndian.Uint32(c)))
		for _, half := range []int{at + 2, at} {
			sum = flush(fma(bf16(a[half:]), bf16(b[half:]), sum))
		}
		binary.LittleEndian.PutUint32(c, math.Float32bits(sum))
	}
}
