package weights

import "encoding/binary"

// This file writes blocks of panels from the bytes of GGUF files, four bytes at a time. Source of
// the format of files: ggml-common.h.
//
// Each function writes column j of a block whose panel has nr columns from that column's block of a
// file.

// These masks apply to each of four bytes.
const (
	fourOnes   = 0x01010101
	fourThrees = 3 * fourOnes
	fourLow    = 15 * fourOnes
	fourHigh   = 128 * fourOnes
)

func quad(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }

// putQuad writes quad i of column j of weights.
func putQuad(w []byte, nr, i, j int, x uint32) { binary.LittleEndian.PutUint32(w[4*(nr*i+j):], x) }

// putNumber copies number i of a block.
func putNumber(out, b []byte, nr, i, j int) { copy(out[2*(nr*i+j):], b[2*i:2*i+2]) }

// putMinimum copies a minimum and changes its sign: files add it, blocks subtract it.
func putMinimum(out, b []byte, nr, j int) { out[2*(nr+j)], out[2*(nr+j)+1] = b[2], b[3]^128 }

// putNibbles copies a sub-block of 4 bits. Files have the same order.
func putNibbles(w, b []byte, nr, j int) {
	_ = b[15]
	putQuad(w, nr, 0, j, quad(b, 0))
	putQuad(w, nr, 1, j, quad(b, 4))
	putQuad(w, nr, 2, j, quad(b, 8))
	putQuad(w, nr, 3, j, quad(b, 12))
}

func repackQ8_0(out, b []byte, nr, j int) {
	putNumber(out, b, nr, 0, j)
	w, q := out[2*nr:], b[2:34]
	for i := range 8 {
		putQuad(w, nr, i, j, quad(q, 4*i)^fourHigh)
	}
}

// repackPairQ8_0 does the same as repackQ8_0 for columns j and j+1, of blocks b and c, in words of
// eight bytes.
func repackPairQ8_0(out, b, c []byte, nr, j int) {
	const high = fourHigh<<32 | fourHigh
	binary.LittleEndian.PutUint32(out[2*j:], uint32(b[0])|uint32(b[1])<<8|uint32(c[0])<<16|uint32(c[1])<<24)
	w, b, c := out[2*nr+4*j:], b[2:34], c[2:34]
	for i := 0; i < 32; i += 8 {
		x, y := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(c[i:])
		to, next := w[:8], w[4*nr:][:8]
		binary.LittleEndian.PutUint64(to, (x&0xffffffff|y<<32)^high)
		binary.LittleEndian.PutUint64(next, (x>>32|y&^0xffffffff)^high)
		w = w[min(8*nr, len(w)):]
	}
}

func repackQ4_0(out, b []byte, nr, j int) {
	putNumber(out, b, nr, 0, j)
	putNibbles(out[2*nr:], b[2:18], nr, j)
}

func repackQ4_1(out, b []byte, nr, j int) {
	putNumber(out, b, nr, 0, j)
	putMinimum(out, b, nr, j)
	putNibbles(out[4*nr:], b[4:20], nr, j)
}

func repackMXFP4(out, b []byte, nr, j int) {
	out[j] = b[0]
	putNibbles(out[nr:], b[1:17], nr, j)
}

func repackQ5_0(out, b []byte, nr, j int) {
	putNumber(out, b, nr, 0, j)
	putFifths(out[2*nr:], b[2:22], nr, j)
}

func repackQ5_1(out, b []byte, nr, j int) {
	putNumber(out, b, nr, 0, j)
	putMinimum(out, b, nr, j)
	putFifths(out[4*nr:], b[4:24], nr, j)
}

// putFifths reads the fifth bit of element i from bit i of the word before the lower 4 bits.
func putFifths(w, b []byte, nr, j int) {
	putNibbles(w, b[4:], nr, j)
	word, fifths := quad(b, 0), uint32(0)
	for i := range 8 {
		fifths |= word >> (4 * i) & 15 * 0x204081 & fourOnes << i // one bit per byte
	}
	putQuad(w, nr, 4, j, fifths)
}

func repackQ4_K(out, b []byte, nr, j int) {
	const size = 18
	putGroups(out, b, nr, j, size)
	subs := out[4*nr:]
	for u := 0; u < 8; u += 2 {
		putPair(subs[u*size*nr:], subs[(u+1)*size*nr:], b[16+16*u:], nr, j)
	}
}

// repackQ5_K reads the fifth bits of sub-block u from bit u of the 32 bytes before the lower 4
// bits.
func repackQ5_K(out, b []byte, nr, j int) {
	const size = 22
	putGroups(out, b, nr, j, size)
	subs := out[4*nr:]
	for u := 0; u < 8; u += 2 {
		putPair(subs[u*size*nr:], subs[(u+1)*size*nr:], b[48+16*u:], nr, j)
	}
	for u := range 8 {
		var fifths uint32
		for i := range 8 {
			fifths |= quad(b, 16+4*i) >> u & fourOnes << i
		}
		putQuad(subs[(u*size+2)*nr:], nr, 4, j, fifths)
	}
}

// putPair writes the lower 4 bits of two sub-blocks. The lower halves of 32 bytes belong to the
// first one, and the upper halves to the other.
func putPair(one, other, b []byte, nr, j int) {
	one, other = one[2*nr:], other[2*nr:]
	for i := range 4 {
		x, y := quad(b, 4*i), quad(b, 16+4*i)
		putQuad(one, nr, i, j, x&fourLow|y&fourLow<<4)
		putQuad(other, nr, i, j, x>>4&fourLow|y&^fourLow)
	}
}

// putGroups writes d and dmin, and the scales and minima of eight sub-blocks of size bytes, 6 bits
// each. Sub-blocks 0 to 3 have bytes of their own. Sub-blocks 4 to 7 have 4 bits in other bytes,
// and their upper 2 bits in the bytes of 0 to 3.
func putGroups(out, b []byte, nr, j, size int) {
	putNumber(out, b, nr, 0, j)
	putNumber(out, b, nr, 1, j)
	six := b[4:16]
	for u := range 4 {
		first, last := out[(4+u*size)*nr:], out[(4+(u+4)*size)*nr:]
		first[j], first[nr+j] = six[u]&63, six[u+4]&63
		last[j] = six[u+8]&15 | six[u]>>6<<4
		last[nr+j] = six[u+8]>>4 | six[u+4]>>6<<4
	}
}

// repackQ6_K writes four sub-blocks from each 64 bytes with lower 4 bits and 32 bytes with upper 2
// bits.
func repackQ6_K(out, b []byte, nr, j int) {
	const size = 26
	low, high, scales := b[:128], b[128:192], b[192:208]
	copy(out[2*j:2*j+2], b[208:210])
	for u := range 8 {
		w := out[(2+u*size)*nr:]
		w[j], w[nr+j] = scales[2*u], scales[2*u+1]
		for h := range 2 {
			half := w[(2+12*h)*nr:]
			lower, upper := low[u/4*64+u%2*32+16*h:][:16], high[u/4*32+16*h:][:16]
			shift := u % 4 / 2 * 4
			for i := range 2 {
				putQuad(half, nr, i, j, quad(lower, 4*i)>>shift&fourLow|quad(lower, 8+4*i)>>shift&fourLow<<4)
			}
			var two uint32
			for i := range 4 {
				two |= quad(upper, 4*i) >> (u % 4 * 2) & fourThrees << (2 * i)
			}
			putQuad(half, nr, 2, j, two)
		}
	}
}

// repackIQ4_XS reads the lower 4 bits of the scales of two sub-blocks from a byte, and the upper 2
// bits of all scales from the word before these bytes.
func repackIQ4_XS(out, b []byte, nr, j int) {
	const size = 17
	putNumber(out, b, nr, 0, j)
	high := binary.LittleEndian.Uint16(b[2:])
	for u := range 8 {
		sub := out[(2+u*size)*nr:]
		sub[j] = (b[4+u/2]>>(u%2*4)&15 | byte(high>>(2*u))&3<<4) - 32
		putNibbles(sub[nr:], b[8+16*u:], nr, j)
	}
}

// repackQ3_K reads the third bits of sub-block u from bit u of 32 bytes, and the lower 2 bits of
// four sub-blocks from each of the next 32 bytes.
func repackQ3_K(out, b []byte, nr, j int) {
	const size = 14
	third, scales := b[:32], b[96:108]
	copy(out[2*j:2*j+2], b[108:110])
	for u := range 8 {
		sub := out[(2+u*size)*nr:]
		lower := b[32+u/4*32:][:32]
		for h := range 2 {
			g := 2*u + h
			sub[h*nr+j] = (scales[g%8]>>(g/8*4)&15 | scales[8+g%4]>>(g/4*2)&3<<4) - 32
		}
		w := sub[2*nr:]
		var thirds uint32
		for h := range 2 {
			var two uint32
			for i := range 4 {
				two |= quad(lower, 16*h+4*i) >> (u % 4 * 2) & fourThrees << (2 * i)
				thirds |= quad(third, 16*h+4*i) >> u & fourOnes << (4*h + i)
			}
			putQuad(w, nr, h, j, two)
		}
		putQuad(w, nr, 2, j, thirds)
	}
}
