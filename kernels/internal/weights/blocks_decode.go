package weights

import "encoding/binary"

// Blocks of columns from the bytes of GGUF files. Source: ggml-common.h.

func decodeQ8_0(c *blockColumn, b []byte) {
	c.d = binary.LittleEndian.Uint16(b)
	for i, q := range b[2:] {
		c.q[i] = q ^ 128
	}
}

func decodeQ4_0(c *blockColumn, b []byte) {
	c.d = binary.LittleEndian.Uint16(b)
	for i, q := range b[2:] {
		c.q[i], c.q[i+16] = q&15, q>>4
	}
}

// decodeQ4_1: the minimum is added in files, and taken off here.
func decodeQ4_1(c *blockColumn, b []byte) {
	decodeQ4_0(c, b[2:])
	c.d, c.dmin = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])^1<<15
}

// decodeQ5_0: bit i of the word after the scale is the fifth of element i.
func decodeQ5_0(c *blockColumn, b []byte) {
	decodeQ4_0(c, b[4:])
	c.d = binary.LittleEndian.Uint16(b)
	high := binary.LittleEndian.Uint32(b[2:])
	for i := range 32 {
		c.q[i] |= byte(high>>i&1) << 4
	}
}

func decodeQ5_1(c *blockColumn, b []byte) {
	decodeQ5_0(c, b[2:])
	c.d, c.dmin = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])^1<<15
}

// decodeQ4_K: scales and minima have 6 bits. Those of the first four groups are in bytes of
// their own, whose upper two bits complete those of the last four.
func decodeQ4_K(c *blockColumn, b []byte) { decodeGroups(c, b[:16], b[16:]) }

// decodeQ5_K: bit g of the 32 bytes before the lower 4 bits is the fifth of the elements of group g.
func decodeQ5_K(c *blockColumn, b []byte) {
	decodeGroups(c, b[:16], b[48:])
	for i := range c.q {
		c.q[i] |= b[16+i%32] >> (i / 32) & 1 << 4
	}
}

func decodeGroups(c *blockColumn, head, low []byte) {
	c.d, c.dmin = binary.LittleEndian.Uint16(head), binary.LittleEndian.Uint16(head[2:])
	six := head[4:]
	for g := range 4 {
		c.scale[g], c.least[g] = six[g]&63, six[g+4]&63
		c.scale[g+4] = six[g+8]&15 | six[g]>>6<<4
		c.least[g+4] = six[g+8]>>4 | six[g+4]>>6<<4
	}
	for i, q := range low {
		at := i/32*64 + i%32
		c.q[at], c.q[at+32] = q&15, q>>4
	}
}

// decodeQ6_K: each 64 bytes of lower halves and 32 of upper two bits are 128 elements.
func decodeQ6_K(c *blockColumn, b []byte) {
	low, high := b[:128], b[128:192]
	copy(c.scale[:], b[192:208])
	c.d = binary.LittleEndian.Uint16(b[208:])
	for i := range c.q {
		part, at := i/128, i%128
		c.q[i] = low[part*64+at%64]>>(at/64*4)&15 | high[part*32+at%32]>>(at/32*2)&3<<4
	}
}

// decodeMXFP4: the exponent, and codes.
func decodeMXFP4(c *blockColumn, b []byte) {
	c.d = uint16(b[0])
	for i, q := range b[1:] {
		c.q[i], c.q[i+16] = q&15, q>>4
	}
}
